"""The settings catalogue: complete, consistent, right by version."""

from __future__ import annotations

import re

import pytest

from firstfault.knowledge.library import load_library
from firstfault.launch import settings

ASKED_FOR = """NCCL_DEBUG NCCL_DEBUG_SUBSYS NCCL_DEBUG_FILE NCCL_SOCKET_IFNAME NCCL_IB_DISABLE NCCL_IB_HCA NCCL_IB_TIMEOUT NCCL_IB_RETRY_CNT
NCCL_P2P_DISABLE NCCL_SHM_DISABLE NCCL_RAS_ENABLE GLOO_SOCKET_IFNAME TORCH_DISTRIBUTED_DEBUG TORCH_CPP_LOG_LEVEL
TORCH_NCCL_ASYNC_ERROR_HANDLING TORCH_NCCL_BLOCKING_WAIT TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC TORCH_NCCL_ENABLE_MONITORING TORCH_FR_BUFFER_SIZE
TORCH_NCCL_TRACE_BUFFER_SIZE TORCH_NCCL_DUMP_ON_TIMEOUT TORCH_NCCL_DEBUG_INFO_TEMP_FILE TORCH_FR_DUMP_TEMP_FILE TORCH_NCCL_DESYNC_DEBUG
TORCH_SHOW_CPP_STACKTRACES CUDA_LAUNCH_BLOCKING PYTORCH_CUDA_ALLOC_CONF PYTORCH_ALLOC_CONF CUDA_VISIBLE_DEVICES OMP_NUM_THREADS HSA_X RCCL_X
HCCL_CONNECT_TIMEOUT HCCL_EXEC_TIMEOUT MASTER_ADDR MASTER_PORT NCCL_IB_GID_INDEX FI_PROVIDER VLLM_X init_process_group new_group
InitProcessGroupKwargs ddp_timeout init_distributed DDPStrategy --distributed-timeout-minutes --rdzv-conf""".split()
EVERY = settings.all_settings()


@pytest.mark.parametrize("name", ASKED_FOR)
def test_the_catalogue_knows(name: str) -> None:
    assert settings.lookup(name) is not None


@pytest.mark.parametrize("info", EVERY, ids=[i.name for i in EVERY])
def test_an_entry_is_complete(info: settings.SettingInfo) -> None:
    assert info.kind in {"env", "flag", "timeout"}
    for sentence in (info.meaning, info.cost, info.decides):
        assert re.match(r"[A-Za-z0-9'].*[.)]$", sentence), sentence
    assert info.default and not info.default.endswith(".")
    assert info.url.startswith("https://")
    assert info.values or info.name.endswith("*")
    assert info.requires is None or settings.lookup(info.requires) is not None
    # A value that slows training down is one that the entry explains, or one of a list.
    assert all(any(v in value for value, _ in info.values) for v in info.slow_values) or info.name == "NCCL_DEBUG_SUBSYS"


@pytest.mark.parametrize("info", EVERY, ids=[i.name for i in EVERY])
def test_a_hover_has_the_meaning_the_cost_and_the_link(info: settings.SettingInfo) -> None:
    hover = info.hover_markdown()
    assert hover.startswith(f"**`{info.name}`**")
    assert info.meaning in hover and info.cost in hover and info.url in hover
    assert all(f"`{value}`" in hover for value, _ in info.values if value)


def test_the_hover_of_an_old_name_says_so() -> None:
    info = settings.lookup("NCCL_ASYNC_ERROR_HANDLING")
    assert info is not None and info.name == "TORCH_NCCL_ASYNC_ERROR_HANDLING"
    assert "the old name of `TORCH_NCCL_ASYNC_ERROR_HANDLING`, renamed in torch 2.2" in info.hover_markdown("NCCL_ASYNC_ERROR_HANDLING")


@pytest.mark.parametrize(
    ("name", "version", "fits"),
    [
        ("TORCH_FR_BUFFER_SIZE", "2.13.0", "TORCH_FR_BUFFER_SIZE"),
        ("TORCH_FR_BUFFER_SIZE", "2.7.1+cu126", "TORCH_NCCL_TRACE_BUFFER_SIZE"),
        ("TORCH_NCCL_TRACE_BUFFER_SIZE", "2.8.0", "TORCH_FR_BUFFER_SIZE"),
        ("TORCH_FR_BUFFER_SIZE", None, "TORCH_FR_BUFFER_SIZE"),
        ("NCCL_BLOCKING_WAIT", "2.1.2", "NCCL_BLOCKING_WAIT"),
        ("NCCL_BLOCKING_WAIT", "2.10.0", "TORCH_NCCL_BLOCKING_WAIT"),
        ("PYTORCH_ALLOC_CONF", "2.9.1", "PYTORCH_CUDA_ALLOC_CONF"),
        ("NCCL_DEBUG", "1.13", "NCCL_DEBUG"),
        ("VLLM_SOMETHING", "2.6", "VLLM_SOMETHING"),
    ],
)
def test_the_name_fits_the_torch_version(name: str, version: str | None, fits: str) -> None:
    assert settings.name_for(name, version) == fits


def test_every_setting_that_a_page_offers_is_explained() -> None:
    """A quick fix that puts a setting of the stack into a script owes the reader a hover on it: add an entry to launch/settings/."""
    offered = {s.name for page in load_library().pages.values() for s in page.settings if re.match(_STACK, s.name)}
    assert offered and sorted(n for n in offered if settings.lookup(n) is None) == []


_STACK = r"(?:NCCL|TORCH|PYTORCH|GLOO|CUDA|HIP|HSA|RCCL|HCCL|FI|VLLM|MASTER|OMP)_|--"


def test_versions_compare_as_numbers() -> None:
    assert settings.at_least("2.10", "2.9") and not settings.at_least("2.9.1", "2.10")


def test_a_flag_is_known_by_either_spelling() -> None:
    for spelling in ("--rdzv_conf", "--rdzv-conf", "--rdzv-conf=x", "--distributed_timeout_minutes", "--ddp-timeout"):
        assert settings.lookup(spelling) is not None, spelling


def test_a_prefix_is_no_variable() -> None:
    assert settings.lookup("VLLM_") is None
    assert settings.lookup("PATH") is None
