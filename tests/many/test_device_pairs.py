"""All pairs on a CUDA device: the numbers of the CPU. Without a device, the kernels' own source runs on the CPU."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from tests.strategies import clouds, examples, spaces

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from anchorot.anchors import encoder as encoders  # noqa: E402
from anchorot.many import device as workers  # noqa: E402
from anchorot.many import nearest, shards  # noqa: E402
from anchorot.many import pairwise as module  # noqa: E402
from anchorot.torch import _nearest as device_nearest  # noqa: E402
from anchorot.torch import _pairs  # noqa: E402
from tests.torch.emulated_device import emulated  # noqa: E402

cuda = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]
pytestmark = [pytest.mark.system, pytest.mark.xdist_group("devices")]
SIZES = (3, 5, 4, 5, 6, 4)


@pytest.fixture(scope="module", params=["emulated", pytest.param("cuda", marks=cuda)])
def device(request, tmp_path_factory):
    if request.param == "cuda":
        yield "cuda"
        return
    with emulated(tmp_path_factory.mktemp("kernels")):
        yield "cuda"


def on_both(device, *args, **options):
    return ao.pairwise(*args, **options, device=device), ao.pairwise(*args, **options, n_jobs=1)


# -- values --------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("native_only")
@examples(30)
@given(st.lists(spaces(uniform=True), min_size=1, max_size=5), st.booleans(), st.integers(1, 5))
def test_uniform_spaces_have_the_bits_of_the_native_kernels(device, many, robust, tile):
    found, expected = on_both(device, many, robust=robust, tile=tile)
    np.testing.assert_array_equal(found, expected)


@examples(20)
@given(st.lists(spaces(), min_size=1, max_size=3), st.lists(spaces(), min_size=1, max_size=3), st.data())
def test_any_weights_have_the_values_of_the_cpu(device, many, others, data):
    p, robust = data.draw(st.sampled_from([1, 1, 2])), data.draw(st.booleans())
    found, expected = on_both(device, many, others, p=p, robust=robust)
    max_cost = max(1.0, *(float(np.abs(x.cost).max()) ** p for x in (*many, *others)))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14 * max_cost)


@pytest.mark.parametrize("options", [{}, {"robust": True}, {"p": 2}, {"max_cost": 1.5}], ids=str)
def test_spaces_of_all_sizes_weights_and_types_mix(device, options):
    found, expected = on_both(device, clouds((*SIZES, 1)), **options)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert (np.diag(found) == 0).all()
    np.testing.assert_array_equal(found, found.T)


def test_a_far_point_spoils_no_digits(device):
    """What rounding leaves of an energy that is zero again must not meet the gap up to that point."""
    weights = np.random.default_rng(0).dirichlet(np.ones(4))
    pair = []
    for x in clouds((3, 3), weighted=False):
        far = np.full((4, 4), 1e12)
        far[:3, :3] = x.cost
        pair.append(ao.Space(far, weights))
    found, expected = on_both(device, pair)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_levels_of_ragged_collections_need_not_be_square(device):
    rng = np.random.default_rng(0)
    shapes = ((4, 6), (6, 4), (9, 6), (1, 1), (3, 7))
    features = [ao.AnchorFeatures.of_rows(rng.normal(size=shape)) for shape in shapes]
    found, expected = on_both(device, features)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("options", [{"tile": 1}, {"tile": 3, "n_jobs": 2}, {"memory": 1}], ids=str)
@pytest.mark.parametrize("p", [1, 2])
def test_tiles_and_memory_change_no_bit(device, p, options):
    many = clouds(SIZES)
    np.testing.assert_array_equal(
        ao.pairwise(many, p=p, device=device, **options), ao.pairwise(many, p=p, device=device)
    )


# -- Sliced Anchor Wasserstein ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("native_only")
@examples(20)
@given(st.lists(spaces(uniform=True), min_size=1, max_size=5), st.sampled_from([1, 2]), st.integers(1, 5))
def test_sliced_distances_of_uniform_spaces_have_the_bits_of_the_native_kernels(device, many, p, tile):
    found, expected = on_both(device, many, metric="saw", p=p, tile=tile)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("native_only")
def test_the_root_of_a_sliced_distance_is_correctly_rounded(device):
    """The mean square of the gaps is 0x1.9c9858e38e38ep+11, whose root PyTorch rounds up on some CPUs."""
    found, expected = on_both(device, [ao.Space([[57.5625]]), ao.Space(np.diag([0.0, 0.0, 1.0]))], metric="saw", p=2)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("native_only")
@pytest.mark.parametrize("p", [1, 2])
def test_sliced_distances_over_several_chunks_have_the_bits_of_the_native_kernels(device, p):
    sizes = (47, 50, 47, 50, 47, 47, 50, 50, 50, 50)  # squared, more numbers than a chunk
    found, expected = on_both(device, clouds(sizes, weighted=False), metric="saw", p=p)
    np.testing.assert_array_equal(found, expected)


@examples(20)
@given(st.lists(spaces(), min_size=1, max_size=3), st.lists(spaces(), min_size=1, max_size=3), st.sampled_from([1, 2]))
def test_sliced_distances_of_any_weights_have_the_values_of_the_cpu(device, many, others, p):
    found, expected = on_both(device, many, others, metric="saw", p=p)
    max_cost = max(1.0, *(float(np.abs(x.cost).max()) for x in (*many, *others)))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14 * max_cost)


@pytest.mark.parametrize("options", [{}, {"p": 2}, {"max_cost": 1.5}, {"k": 3}], ids=str)
def test_sliced_distances_of_all_sizes_and_weights_mix(device, options):
    found, expected = on_both(device, clouds((*SIZES, 1)), metric="saw", **options)
    if "k" in options:
        np.testing.assert_array_equal(found.index, expected.index)
        found, expected = found.value, expected.value
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_squares_out_of_range_are_left_to_the_cpu(device):
    many = [ao.Space(factor * np.ones((2, 2))) for factor in (1e200, 2e200, 1e-200)]
    found, expected = on_both(device, many, metric="saw", p=2)
    np.testing.assert_array_equal(found, expected)


def test_spaces_that_do_not_fit_on_the_device_go_block_by_block(device, monkeypatch):
    many = clouds(SIZES)
    whole = ao.pairwise(many, device=device)
    packed = []
    monkeypatch.setattr(_pairs, "free_bytes", lambda device: 10_000)
    original = workers.Device._packed
    monkeypatch.setattr(workers.Device, "_packed", lambda *args: packed.append(args[1]) or original(*args))
    np.testing.assert_array_equal(ao.pairwise(many, device=device), whole)
    assert max(map(len, packed)) < len(many)


def test_large_weighted_spaces_are_left_to_the_cpu(device, monkeypatch):
    swept, original = [], _pairs.sweep_energies
    monkeypatch.setattr(_pairs, "MOST_ROWS", 4)
    monkeypatch.setattr(
        _pairs, "sweep_energies", lambda x, y, *rest: swept.extend(x.sizes + y.sizes) or original(x, y, *rest)
    )
    found, expected = on_both(device, clouds((3, 5, 4, 5, 6, 4, 4)))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert {rows for _, rows in swept} == {3, 4}


def test_a_device_is_asked_for_its_part(device, monkeypatch):
    seen = []
    original = _pairs.pair_energies
    monkeypatch.setattr(_pairs, "pair_energies", lambda x, y, stopped: seen.append(x.count) or original(x, y, stopped))
    ao.pairwise(clouds(3), device=device)
    assert seen == [3]


@pytest.mark.usefixtures("native_only")
@pytest.mark.parametrize("options", [{}, {"robust": True}, {"grid": ao.anchors.Grid((3, 11), 0.5, 2.0)}], ids=str)
def test_vectors_have_the_bits_of_the_native_kernels(device, options):
    many = [*clouds((5, 4, 5, 5, 1, 3)), ao.AnchorFeatures.of(clouds(1)[0], robust="robust" in options)]
    np.testing.assert_array_equal(ao.embed(many, device=device, **options), ao.embed(many, **options))


def test_batches_change_no_bit_of_vectors(device, monkeypatch):
    many, batches, original = clouds(SIZES, weighted=False), [], _pairs.grid_averages
    monkeypatch.setattr(_pairs, "grid_averages", lambda cost, grid: batches.append(len(cost)) or original(cost, grid))
    whole = ao.embed(many, device=device)
    assert sorted(batches) == [1, 1, 2, 2]
    monkeypatch.setattr("anchorot.search.embedding.BATCH_NUMBERS", 1)
    np.testing.assert_array_equal(ao.embed(many, device=device), whole)
    assert batches[4:] == [1] * len(many)
    np.testing.assert_allclose(whole, ao.embed(many), rtol=1e-6, atol=1e-9)


# -- bad spaces ----------------------------------------------------------------------------------------------------


def test_bad_spaces_are_skipped(device):
    many = [*clouds(SIZES[:3]), np.ones((2, 3)), *clouds(SIZES[:2], seed=1)]
    with pytest.warns(ao.InputWarning, match="1 of 6 spaces"):
        found = ao.pairwise(many, device=device, errors="skip")
    assert np.isnan(found[3]).all()
    assert np.isnan(found[:, 3]).all()
    good = [0, 1, 2, 4, 5]
    np.testing.assert_allclose(found[np.ix_(good, good)], ao.pairwise([many[k] for k in good]), rtol=1e-12)


@pytest.mark.parametrize("weights", [None, [0.25, 0.75]])
def test_energies_beyond_floats_name_the_two_spaces(device, weights):
    wide = [ao.Space(np.array([[0, sign * 1.5e308], [sign * 1.5e308, 0]]), weights) for sign in (1, -1)]
    with pytest.raises(ao.InputError, match=r"spaces\[0\] and spaces\[1\]: .*range of float"):
        ao.pairwise(wide, device=device)


# -- checkpoints and Ctrl-C ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("native_only")
@pytest.mark.parametrize("first", ["cpu", "cuda"])
def test_a_checkpoint_of_uniform_spaces_goes_from_device_to_cpu_and_back(device, tmp_path, first):
    many = clouds(5, weighted=False)
    whole = ao.pairwise(many, n_jobs=1)
    ao.pairwise(many, device=first, tile=2, checkpoint=tmp_path)
    for tile in sorted(tmp_path.glob("[!.]*.npy"))[::2]:
        tile.unlink()
    second = "cpu" if first == "cuda" else "cuda"
    np.testing.assert_array_equal(ao.pairwise(many, device=second, checkpoint=tmp_path), whole)


@pytest.mark.usefixtures("native_only")
def test_jobs_on_a_device_and_on_the_cpu_fill_one_checkpoint(device, tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "BEAT_SECONDS", 0.02)
    many = clouds(5, weighted=False)
    with shards.Claims(tmp_path, "on the CPU") as living:
        assert living.take(tmp_path / "000000-000002.npy")
        assert ao.pairwise(many, device=device, tile=2, checkpoint=tmp_path, shard=(0, 2)) is None
    assert len(list(tmp_path.glob("[!.]*.npy"))) == 5
    found = ao.pairwise(many, checkpoint=tmp_path, shard=(1, 2))
    np.testing.assert_array_equal(found, ao.pairwise(many, n_jobs=1))


@pytest.mark.parametrize(("kind", "options"), [("weights", {}), ("weights", {"p": 2}), ("features", {"p": 2})])
def test_a_checkpoint_with_other_bits_is_the_devices_own(device, tmp_path, kind, options):
    many = clouds((3, 4, 3), weighted=kind == "weights")
    if kind == "features":
        many = [ao.AnchorFeatures.of(x) for x in many]
    whole = ao.pairwise(many, device=device, checkpoint=tmp_path, **options)
    np.testing.assert_array_equal(ao.pairwise(many, device=device, checkpoint=tmp_path, **options), whole)
    with pytest.raises(ao.InputError, match=r"kernels is 'cuda' there and '(native|numpy)' here"):
        ao.pairwise(many, checkpoint=tmp_path, **options)


def test_ctrl_c_ends_a_run_and_its_tiles_are_kept(device, monkeypatch, tmp_path):
    many = clouds(SIZES, weighted=False)
    put = module._put

    def interrupted(values, tile, found, mirrored):
        put(values, tile, found, mirrored)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_put", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ao.pairwise(many, device=device, tile=2, checkpoint=tmp_path)
    assert len(list(tmp_path.glob("[!.]*.npy"))) == 1
    monkeypatch.setattr(module, "_put", put)
    found = ao.pairwise(many, device=device, checkpoint=tmp_path)
    np.testing.assert_allclose(found, ao.pairwise(many), rtol=1e-12)


def test_what_is_stopped_leaves_no_numbers(device):
    where = torch.device(module.device_names(device)[0])
    x = _pairs.PackedSpaces([0, 1], lambda k: ao.AnchorFeatures.of(np.eye(2)), 1, where)
    assert np.isnan(_pairs.pair_energies(x, x, lambda: True)).all()


# -- input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "tlb"}, "metric 'tlb'"),
        ({"p": 3}, "p=3"),
        ({"ground": "w2"}, "ground='w1' only, but got ground='w2'"),
        ({"attributes": "types", "max_cost": 1.0}, "attributes='types'"),
        ({"client": "any"}, "client and device exclude each other"),
        ({"backend": "processes"}, "devices are fed by threads, but got backend='processes'"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_what_devices_do_not_compute_is_refused_in_one_line(device, options, message):
    many = [ao.Space(np.eye(2), types=["a", "b"])] * 2
    with pytest.raises(ao.InputError, match=message) as caught:
        ao.pairwise(many, device=device, **options)
    assert "\n" not in str(caught.value)


def test_vectors_with_attributes_are_refused_in_one_line(device):
    with pytest.raises(ao.InputError, match="device cannot be combined with attributes, max_cost") as caught:
        ao.embed(clouds(2), max_cost=1.0, device=device)
    assert "\n" not in str(caught.value)


# -- nearest neighbours --------------------------------------------------------------------------------------------


def assert_nearest_on_both(device, many, others=None, **options):
    """On a device as on the CPU; the latter is compared with the sorted matrix in `test_nearest.py`."""
    found = ao.pairwise(many, others, **options, device=device)
    wanted = ao.pairwise(many, others, **options, n_jobs=1)
    np.testing.assert_array_equal(found.index, wanted.index)
    np.testing.assert_allclose(found.value, wanted.value, rtol=1e-12)
    return found, wanted


@pytest.fixture
def with_bounds(monkeypatch):
    """So that few spaces have bounds, and fit on an emulated device with them."""
    monkeypatch.setattr(encoders, "MIN_LEARNED", 1)
    monkeypatch.setattr(nearest, "CELLS", (2, 2))
    for name, value in (("MORE_CANDIDATES", 1), ("GAP_NUMBERS", 50), ("PAIRS", 7), ("PACKED_SPACES", 4)):
        monkeypatch.setattr(device_nearest, name, value)


@pytest.mark.usefixtures("native_only", "with_bounds")
@examples(20)
@given(st.lists(spaces(uniform=True), min_size=3, max_size=7), st.data())
def test_neighbours_of_uniform_spaces_have_the_bits_of_the_native_kernels(device, many, data):
    options = {"robust": data.draw(st.booleans()), "tile": data.draw(st.integers(1, 9))}
    others = data.draw(st.none() | st.just(many[1:]))
    k = data.draw(st.integers(1, len(many) - 1))
    found, wanted = assert_nearest_on_both(device, [*many, many[0]], others, k=k, **options)
    np.testing.assert_array_equal(found.value, wanted.value)


@pytest.mark.usefixtures("with_bounds")
def test_bounds_rule_out_pairs_on_a_device_too(device):
    found, _ = assert_nearest_on_both(device, clouds(60, weighted=False), k=2)
    assert found.n_exact < 60 * 59 / 2


@pytest.mark.usefixtures("with_bounds")
@pytest.mark.parametrize("options", [{}, {"p": 2}, {"max_cost": 1.5}], ids=str)
def test_neighbours_of_any_spaces_are_those_of_the_cpu(device, options):
    found, _ = assert_nearest_on_both(device, clouds((*SIZES, 1)), k=1, tile=4, **options)
    assert (found.n_exact < 7 * 6) == ("p" not in options)  # by bounds, with weights too


@pytest.mark.usefixtures("with_bounds")
def test_spaces_that_do_not_fit_on_the_device_have_the_same_neighbours(device, monkeypatch):
    many = clouds(SIZES, weighted=False)
    whole = ao.pairwise(many, k=2, device=device)
    monkeypatch.setattr(_pairs, "free_bytes", lambda device: 3000)
    found = ao.pairwise(many, k=2, device=device)
    np.testing.assert_array_equal(found.index, whole.index)
    np.testing.assert_array_equal(found.value, whole.value)
    assert found.n_exact == len(many) * (len(many) - 1)


@pytest.mark.usefixtures("with_bounds")
def test_products_in_less_than_float32_are_no_bounds(device):
    many, before = clouds(20, weighted=False), torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        assert_nearest_on_both(device, many, k=3)
    finally:
        torch.set_float32_matmul_precision(before)


@pytest.mark.usefixtures("with_bounds")
def test_bad_spaces_have_no_neighbours_on_a_device(device):
    many = [np.zeros((2, 3)), *clouds(6, weighted=False)]
    with pytest.warns(ao.InputWarning):
        found, _ = assert_nearest_on_both(device, many, k=6, errors="skip", tile=4)
    assert (found.index[0] == -1).all()
    assert 0 not in found.index
