"""Each kind of frame against formulas of its own in float64, and against what its storage must keep."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from by_hand_nats import nats as nats_by_hand
from frame_kinds import BINS, BITS, BOOK, GAUSSIAN, JOIN, KINDS, LISTED, PIXELS, TILES, draw
from hypothesis import given, settings
from hypothesis import strategies as st
from random_weights import random_weights

from ndigo import frames
from ndigo.errors import NdigoError
from ndigo.frames import Channel, Frame
from ndigo.frames.cnn import init_norm


def one(o, i: int):
    return jax.tree.map(lambda x: x[i], o)


@pytest.mark.parametrize("name", KINDS)
def test_nats_are_minus_ln_p_by_channel(name):
    frame, rng = KINDS[name], np.random.default_rng(0)
    likelihood = frame.likelihood()
    logits, o = rng.normal(size=(12, likelihood.num_outputs)), draw(frame, rng, 12)
    nats = jax.jit(lambda logits, o: likelihood.nats(logits, likelihood.target(o)))
    found = nats(jnp.asarray(logits, jnp.float32), o)
    expected = [nats_by_hand(frame, logits[i], one(o, i)) for i in range(12)]
    assert found.shape == (12, len(frame.channels))
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


def test_what_the_logits_expect_has_the_chances_that_its_nats_have():
    """Of categoricals: their logarithms are logits of the same nats. Of a Gaussian: its density, in its own units."""
    rng = np.random.default_rng(3)
    of_join, of_numbers = (
        rng.normal(size=kind.likelihood().num_outputs).astype(np.float32) for kind in (JOIN, GAUSSIAN)
    )
    expected, o, start = jax.jit(JOIN.likelihood().chances)(of_join), draw(JOIN, rng), 0
    for name, part in JOIN.parts:
        own = of_join[start : start + part.likelihood().num_outputs]
        start += len(own)
        if name != "here":  # bits are cells, by tests/model/test_likelihood.py
            as_logits = np.log(np.asarray(expected[name], np.float64)).ravel()
            np.testing.assert_allclose(
                nats_by_hand(part, as_logits, o[name]), nats_by_hand(part, own, o[name]), rtol=1e-5
            )
    mean, spread = np.asarray(jax.jit(GAUSSIAN.likelihood().chances)(of_numbers), np.float64).T
    x = draw(GAUSSIAN, rng)
    by_density = np.sum(np.log(spread) + np.log(2 * np.pi) / 2 + ((x - mean) / spread) ** 2 / 2)
    np.testing.assert_allclose(by_density, nats_by_hand(GAUSSIAN, of_numbers, x), rtol=1e-4)


@pytest.mark.parametrize("name", KINDS)
def test_frames_as_they_are_stored_have_the_same_nats_and_the_same_features(name):
    frame, rng = KINDS[name], np.random.default_rng(1)
    likelihood, encoder = frame.likelihood(), random_weights(lambda key: frame.init_encoder(key, 8, 4))
    logits, o = jnp.asarray(rng.normal(size=(2, 3, likelihood.num_outputs)), jnp.float32), draw(frame, rng, 2, 3)
    read = jax.jit(lambda o: (likelihood.nats(logits, likelihood.target(o)), encoder(o)))
    packed = jax.jit(frame.pack)(o)
    assert packed.dtype == jnp.uint8
    (nats, features), (stored_nats, stored_features) = read(o), read(jax.jit(frame.unpack)(packed))
    np.testing.assert_array_equal(stored_nats, nats)
    np.testing.assert_array_equal(stored_features, features)
    assert features.shape == (2, 3, encoder.num_features)


@pytest.mark.parametrize("name", KINDS)
def test_each_of_a_batch_is_read_on_its_own(name):
    """The same features and bytes one by one."""
    frame, rng = KINDS[name], np.random.default_rng(2)
    o, encoder = draw(frame, rng, 3), random_weights(lambda key: frame.init_encoder(key, 8, 4))
    read = jax.jit(lambda o: (encoder(o), frame.pack(o)))
    features, packed = map(np.asarray, read(o))
    for i in range(3):
        alone = read(one(o, i))
        np.testing.assert_allclose(alone[0], features[i], atol=1e-5)
        np.testing.assert_array_equal(alone[1], packed[i])


@pytest.mark.parametrize("values", [(3, 2, 4), (2, 300)], ids=["a product with ones", "rows looked up"])
def test_a_cell_of_tiles_is_read_as_the_sum_of_its_layers_own_rows(values):
    frame = frames.tiles(values, 2, 3, listed=[(0,) * len(values)])
    encoder, o = random_weights(lambda key: frame.init_encoder(key, 8, 4)), draw(frame, np.random.default_rng(0), 5)
    rows = np.split(np.asarray(encoder.rows), np.cumsum(values)[:-1])
    cells = sum(of_layer[np.asarray(o)[..., layer]] for layer, of_layer in enumerate(rows))
    features, expected = jax.jit(lambda o, cells: (encoder(o), encoder.norm(encoder.cnn(cells))))(o, cells)
    np.testing.assert_allclose(features, expected, atol=1e-5)


def test_features_are_normalised_as_equinox_does():
    x = jnp.asarray(np.random.default_rng(0).normal(3, 40, (5, 2, 16)), jnp.float32)
    norm = random_weights(lambda key: init_norm(16))
    library = eqx.tree_at(lambda n: (n.weight, n.bias), eqx.nn.LayerNorm(16), (norm.gain, norm.bias))
    expected = jax.vmap(jax.vmap(library))(x)
    np.testing.assert_allclose(norm(x), expected, atol=1e-5)
    half = norm(jnp.asarray(x, jnp.bfloat16))
    assert half.dtype == jnp.bfloat16
    np.testing.assert_allclose(half.astype(jnp.float32), expected, atol=0.02)


@pytest.mark.parametrize("name", ["tiles", "listed", "pixels"])
def test_the_features_of_a_map_begin_with_mean_0_and_spread_1(name):
    encoder = KINDS[name].init_encoder(jax.random.key(0), 64, 8)
    z = np.asarray(eqx.filter_jit(encoder)(draw(KINDS[name], np.random.default_rng(0), 9)))
    np.testing.assert_allclose([z.mean(axis=-1), z.std(axis=-1)], np.array([[0.0] * 9, [1.0] * 9]), atol=1e-3)


def test_tiles_that_a_sure_model_holds_impossible_still_cost_finite_nats():
    """Logits hundreds of nats apart: the sum over layers is the loop's, no layer is below 0, gradients are finite."""
    frame, likelihood = TILES, TILES.likelihood()
    o = draw(frame, np.random.default_rng(0), 8)
    logits = (100 * np.random.default_rng(1).normal(size=(8, likelihood.num_outputs))).astype(np.float32)
    found, slope = jax.jit(jax.value_and_grad(lambda x: likelihood.nats(x, likelihood.target(o)).sum()))(logits)
    by_layer = np.asarray(jax.jit(lambda x: likelihood.nats(x, likelihood.target(o)))(logits))
    by_hand = [nats_by_hand(frame, logits[i], one(o, i)) for i in range(8)]
    np.testing.assert_allclose(by_layer.sum(-1), np.sum(by_hand, axis=-1), rtol=1e-5)
    assert float(found) == pytest.approx(np.sum(by_hand), rel=1e-5)
    assert (by_layer >= 0).all()
    rows = np.asarray(slope).reshape(8, frame.num_cells, frame.num_classes)
    np.testing.assert_allclose(rows.sum(-1), 0, atol=1e-4)
    assert (np.abs(rows) <= 1 + 1e-5).all()


def assert_kept(frame: Frame, o) -> None:
    back = jax.jit(lambda o: frame.unpack(frame.pack(o)))(o)
    assert jax.tree.structure(back) == jax.tree.structure(o)
    jax.tree.map(np.testing.assert_array_equal, back, o)
    jax.tree.map(lambda x, y: x.dtype == y.dtype or pytest.fail(f"{x.dtype} for {y.dtype}"), back, o)


sizes, seeds = st.integers(1, 4), st.integers(0, 2**32 - 1)


@settings(max_examples=8, deadline=None)
@given(values=st.lists(st.integers(1, 300), min_size=1, max_size=3), height=sizes, width=sizes, seed=seeds)
def test_storage_keeps_every_tile(values, height, width, seed):
    """With values above 256, and with combinations beyond a byte and beyond two."""
    frame = frames.tiles(values, height, width, listed=[(0,) * len(values)])
    assert_kept(frame, draw(frame, np.random.default_rng(seed), 2))


@settings(max_examples=8, deadline=None)
@given(num=sizes, height=sizes, width=sizes, numbers=st.lists(st.floats(width=32, allow_nan=False), min_size=1))
def test_storage_keeps_every_bit_and_every_number_in_a_join(num, height, width, numbers):
    frame = frames.join(
        seen=frames.bits([Channel(f"c{i}", "one_hot") for i in range(num)], height, width),
        felt=frames.vector(len(numbers), low=0, high=1),
    )
    o = draw(frame, np.random.default_rng(num), 1)
    assert_kept(frame, o | {"felt": np.array([numbers], np.float32)})


stored_pixels = jax.jit(lambda o: PIXELS.unpack(PIXELS.pack(o)))
picture = jax.jit(PIXELS.picture)


@settings(max_examples=6, deadline=None)
@given(seed=seeds)
def test_storage_keeps_the_nearest_patches_of_a_picture(seed):
    """By distances in whole numbers; a picture of the codebook's own patches comes back as it was."""
    rng = np.random.default_rng(seed)
    o = draw(PIXELS, rng, 2)
    tokens = np.asarray(stored_pixels(o))
    for t in range(2):
        for i in range(2):
            for j in range(3):
                patch = o[t, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2].astype(int)
                distances = ((BOOK.astype(int) - patch) ** 2).sum(axis=(1, 2, 3))
                assert distances[int(tokens[t, i, j, 0])] == distances.min()
    built = np.asarray(picture(tokens))
    np.testing.assert_array_equal(picture(stored_pixels(built)), built)
    np.testing.assert_array_equal(PIXELS.code(jnp.asarray(built)), tokens)


def test_sizes_of_what_is_stored():
    """MiniGrid's 264 combinations take two bytes per cell, XLand-MiniGrid's 13 x 12 one."""
    assert jax.eval_shape(lambda: frames.tiles().pack(frames.empty(frames.tiles()))).shape == (7 * 7 * 2,)
    xland = frames.tiles((13, 12), 5)
    assert jax.eval_shape(lambda: xland.pack(frames.empty(xland))).shape == (5 * 5,)


def test_equal_sizes_make_equal_frames():
    """They are parts of compiled programs' names."""
    again = frames.tiles((3, 2, 2), 2, 3, listed=[(2, 1, 1), (2, 0, 0), (0, 0, 0), (2, 1, 0)])
    assert (again, hash(again)) == (LISTED, hash(LISTED))
    assert again.likelihood() == LISTED.likelihood()
    book = frames.pixels(4, 6, 3, patch=2, codebook=BOOK.copy())
    assert (book, hash(book)) == (PIXELS, hash(PIXELS))
    assert TILES != LISTED


def test_channels_of_a_join_name_their_part():
    assert [c.name for c in JOIN.channels] == [
        *("map.layer0", "map.layer1", "map.layer2", "pocket.a", "pocket.b", "pocket.c"),
        *("screen", "here.thing", "here.walls"),
    ]


def test_parts_of_a_join_are_read_in_their_own_order_each_by_its_own_reading():
    """A dictionary that JAX has handed back is sorted by its names, and a join is not."""
    encoder, o = random_weights(lambda key: JOIN.init_encoder(key, 4, 2)), draw(JOIN, np.random.default_rng(0), 2)
    names = [name for name, _ in JOIN.parts]
    assert list(encoder.parts) != names
    features, *each = jax.jit(lambda o: [encoder(o), *(encoder.parts[name](o[name]) for name in names)])(o)
    np.testing.assert_array_equal(features, np.concatenate(each, axis=-1))
    for reading in ("categorical", "mixture", "bernoulli"):
        own = {name: part.likelihood() for name, part in JOIN.parts} | {"here": BITS.likelihood(reading)}
        assert dict(JOIN.likelihood(reading).parts) == own


def test_tiles_that_occur_are_collected():
    o = np.array([[[[0, 1], [2, 1]], [[0, 1], [0, 0]]]])
    assert frames.tiles_in(o) == ((0, 0), (0, 1), (2, 1))


def test_a_codebook_takes_each_patch_once_and_leaves_near_ones():
    dark, bright = np.zeros((2, 2, 1)), np.full((2, 2, 1), 200)
    row = np.concatenate([dark, bright, dark + 1, dark, bright], axis=1)[None].astype(np.uint8)
    assert len(frames.patches_in(row, 2)) == 3
    np.testing.assert_array_equal(frames.patches_in(row, 2, apart=4.0), [dark, bright])
    assert len(frames.patches_in(row, 2, apart=1.0)) == 3  # as far apart as they must be
    np.testing.assert_array_equal(frames.patches_in(row, 2, most=1), [dark])


@pytest.mark.parametrize("size", [2, 16])
def test_a_patch_of_the_codebook_is_its_own_token_however_near_and_bright_the_others_are(size):
    """They differ from one another by a few levels in one number of up to 768."""
    patches = np.full((16, size, size, 3), 250, np.uint8)
    patches[:, 0, 0, 0] = 235 + np.arange(16)
    frame = frames.pixels(4 * size, patch=size, codebook=patches)
    picture = patches.reshape(4, 4, size, size, 3).transpose(0, 2, 1, 3, 4).reshape(4 * size, 4 * size, 3)
    tokens = jax.jit(frame.code)(picture)
    np.testing.assert_array_equal(np.asarray(tokens)[..., 0], np.arange(16).reshape(4, 4))


WRONG = {
    "height 0": (lambda: frames.tiles(height=0), "height is 0, expected a whole number of at least 1"),
    "values 0": (lambda: frames.tiles((3, 0)), r"values\[1\] is 0"),
    "names": (lambda: frames.tiles((3, 2), names=("a",)), "1 names for 2 layers"),
    "too many tiles": (lambda: frames.tiles((100, 100)), "10000 combinations in a cell, at most 4096; list those"),
    "too many NumPy codes": (lambda: frames.tiles(np.full(5, 2**16), 1, 1, listed=[(0,) * 5]), "join two frames"),  # pyright: ignore[reportArgumentType]
    "too many codes": (lambda: frames.tiles((60000, 60000), listed=[(0, 0)]), "join two frames"),
    "listed outside": (lambda: frames.tiles((3, 2), listed=[(0, 2)]), r"\(0, 2\) is listed"),
    "nothing listed": (lambda: frames.tiles((3, 2), listed=[]), "no combination is listed"),
    "low above high": (lambda: frames.vector(2, low=(0, 1), high=1), "entry 1 lies between 1.0 and 1.0"),
    "bins": (lambda: frames.vector(2, low=0, high=1, bins=0), "bins is 0"),
    "one bin": (lambda: frames.vector(2, low=0, high=1, bins=1), "bins is 1, expected at least 2"),
    "one name too few": (lambda: frames.vector(3, low=0, high=1, names=("a", "b")), "2 names for 3 numbers"),
    "patches": (lambda: frames.pixels(4, 5, patch=2, codebook=BOOK), "patches of 2 do not fill 4 x 5"),
    "codebook": (
        lambda: frames.pixels(4, patch=4, codebook=BOOK),
        r"is uint8\[5, 2, 2, 3\], expected uint8\[n,4,4,3\]",
    ),
    "twice": (lambda: frames.pixels(4, patch=2, codebook=BOOK[[0, 0]]), "two patches of the codebook are the same"),
    "limits that are one": (lambda: frames.vector(1, low=1, high=1 + 1e-12), "expected finite low < high"),
    "limits too far": (lambda: frames.vector(1, low=-3e38, high=3e38), "expected finite low < high"),
    "limits whose distance is too far": (lambda: frames.vector(1, low=-1e38, high=1e38), "expected finite low < high"),
    "limits of text": (
        lambda: frames.vector(1, low="a", high=1),  # pyright: ignore[reportArgumentType]
        "low is 'a', expected a number, or one for each of 1",
    ),
    "limits too many": (lambda: frames.vector(2, low=0, high=(1, 2, 3)), r"high is \(1, 2, 3\), expected a number"),
    "two names": (lambda: frames.tiles((3, 2), names=("a", "a")), "two channels are named 'a'"),
    "no name": (lambda: frames.vector(2, low=0, high=1, names=("a", 5)), "the name 5 is no text"),  # pyright: ignore[reportArgumentType]
    "one value": (lambda: frames.tiles(5), "values is 5, expected a list"),  # pyright: ignore[reportArgumentType]
    "half a tile": (lambda: frames.tiles((3, 2), listed=[(0.5, 1)]), r"\(0.5, 1\) is listed"),  # pyright: ignore[reportArgumentType]
    "one channel": (lambda: frames.bits(3, 3), "channels is 3, expected a list"),  # pyright: ignore[reportArgumentType]
    "part": (lambda: frames.join(map=3), "part 'map' is a int, expected one of ndigo.frames"),  # pyright: ignore[reportArgumentType]
    "ragged codebook": (lambda: frames.pixels(4, patch=2, codebook=[[1], [1, 2]]), "are not of one size"),
    "pictures": (lambda: frames.patches_in(np.full((4, 4, 1), 300), 2), r"are int64\[4, 4, 1\], expected uint8"),
    "two parts' channel": (
        lambda: frames.join(**{"a": frames.tiles((2, 2), 1, names=("b", "c")), "a.b": frames.bits(["x"], 1)}),
        "two channels are named 'a.b'",
    ),
    "no parts": (lambda: frames.join(), "a join of no frames"),
    "kind": (lambda: frames.bits([Channel("a", "onehot")], 3), "did you mean 'one_hot'|unknown kind"),
    "reading": (lambda: BINS.likelihood("mixture"), "unknown likelihood of numbers 'mixture'"),
}


def test_numbers_between_the_farthest_limits_are_in_the_bins_where_they_lie():
    """A quarter of 2e37 each, and what lies outside in the outer ones."""
    frame = frames.vector(1, low=-1e37, high=1e37, bins=4)
    o_t = jnp.array([[-3e38], [-9e36], [-4e36], [1e36], [6e36], [3e38]], jnp.float32)
    assert frame.likelihood().target(o_t)[:, 0].tolist() == [0, 0, 1, 2, 3, 3]


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_frame_is_refused_in_one_line(what):
    make, says = WRONG[what]
    with pytest.raises(NdigoError, match=says) as refused:
        make()
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("frame", "o_t", "says"),
    [
        (BINS, np.full((2, 3), 1e300), "in entry 0 of frame 0 the value 1e+300, expected a finite number"),
        (BINS, np.array([[0, 0, 0], [0, np.nan, 0]]), "in entry 1 of frame 1 the value nan"),
        (
            frames.pixels(2, patch=2, codebook=BOOK),
            np.full((1, 2, 2, 3), 300),
            "in frame 0 the value 300, expected 0 to",
        ),
        (frames.pixels(2, patch=2, codebook=BOOK), np.full((1, 2, 2, 3), -1), "in frame 0 the value -1, expected 0 to"),
    ],
)
def test_a_value_that_storage_would_change_is_named(frame, o_t, says):
    assert frame.wrong(o_t).startswith(says)
