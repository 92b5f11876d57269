/** A websocket that comes back: requests and their answers, and a new connection whenever the old one breaks. */

const FIRST_WAIT = 500; // milliseconds; doubles with each failure
const LONGEST_WAIT = 8000;

/**
 * `onhello(message)` hears the server's first word on every connection, `onstate(text)` what to show of its state: ""
 * when all is well, `onfull(text)` why the server has no place for one more page.
 */
export function connect(url, { onhello, onstate, onfull }) {
  const waiting = new Map(); // number of a request -> how to answer it
  let socket = null;
  let number = 0;
  let failures = 0;
  let timer = null;

  function open() {
    clearTimeout(timer);
    if (failures) onstate("connecting ...");
    socket = new WebSocket(url);
    socket.addEventListener("message", (event) => hear(JSON.parse(event.data)));
    socket.addEventListener("close", lose);
  }

  function hear(message) {
    if (message.type === "hello") {
      failures = 0;
      onstate("");
      return onhello(message);
    }
    if (message.type === "full") return onfull(message.message);
    const answer = waiting.get(message.n);
    waiting.delete(message.n);
    if (message.type === "refused") answer?.reject(new Error(message.message));
    else answer?.resolve(message);
  }

  function lose() {
    socket = null;
    for (const { reject } of waiting.values()) reject(new Disconnected());
    waiting.clear();
    const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** failures++);
    onstate(`connection lost, next try in ${Math.max(1, Math.round(wait / 1000))} s`);
    timer = setTimeout(open, wait);
  }

  window.addEventListener("online", () => !socket && open());
  open();

  return {
    /** The server's answer; rejects when it refuses, or when the connection breaks first. */
    ask(message) {
      return new Promise((resolve, reject) => {
        if (socket?.readyState !== WebSocket.OPEN) return reject(new Disconnected());
        waiting.set(++number, { resolve, reject });
        socket.send(JSON.stringify({ ...message, n: number }));
      });
    },
  };
}

export class Disconnected extends Error {
  constructor() {
    super("there is no connection to ndigo just now");
  }
}
