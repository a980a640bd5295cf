"""The user's own words find the page, among the first three."""

import pytest

from firstfault.knowledge.library import load_library
from firstfault.knowledge.search import search_pages

LIBRARY = load_library()

# What somebody types -> the pages that answer it; one of them is among the first three.
QUERIES = [
    row.split(" -> ")
    for row in """
one rank at 100% others idle -> rank-missing-collective silent-hang
training hangs without any error -> silent-hang
loss became nan -> loss-nan
gpu memory full -> cuda-out-of-memory
out of memory on one gpu only -> cuda-out-of-memory
host ran out of memory -> host-out-of-memory
address already in use -> port-in-use
nccl timeout after 10 minutes -> collective-timeout
job stuck at the first step -> nccl-p2p-hang silent-hang
one gpu is slower than the others -> rank-straggler
loss scale keeps shrinking -> loss-scale-exhausted
killed without traceback -> process-killed
exit code 137 -> process-killed host-out-of-memory
exit code -9 -> process-killed
exit code 139 -> process-segfault
segfault -> process-segfault
bus error in dataloader -> process-sigbus shm-exhausted
not enough shared memory docker -> shm-exhausted nccl-shm-exhausted
/dev/shm too small -> shm-exhausted nccl-shm-exhausted
disk is full while saving a checkpoint -> disk-full
no space left on device -> disk-full
nfs server not responding -> filesystem-fault
cannot find module flash_attn -> python-import-error
pip package missing -> python-import-error
checkpoint keys do not match the model -> checkpoint-incompatible
size mismatch when loading state dict -> checkpoint-incompatible
checkpoint file is broken -> checkpoint-corrupt
gpu disappeared from nvidia-smi -> gpu-fell-off-bus
xid 79 -> gpu-fell-off-bus
xid 31 -> cuda-illegal-memory-access
double bit ecc error -> gpu-ecc-error
nvlink errors -> gpu-nvlink-error
infiniband link down -> nccl-ib-fault
wrong network interface -> nccl-no-interface
nodes cannot reach each other -> nccl-network-unreachable master-unreachable
cannot resolve master hostname -> master-unreachable
ssh to worker node fails -> launcher-host-unreachable
workers never join the rendezvous -> rendezvous-timeout
different number of batches per rank -> uneven-inputs
ranks call different collectives -> collective-mismatch
ddp unused parameters error -> ddp-unused-parameters
two ranks use the same gpu -> duplicate-gpu
invalid device ordinal -> invalid-device-ordinal
label out of range device side assert -> cuda-device-assert
no kernel image for my gpu -> cuda-arch-unsupported
driver too old for cuda -> cuda-driver-mismatch
vllm does not fit kv cache -> kv-cache-insufficient
engine core died -> engine-died
throughput dropped after upgrade -> performance-regression
training got slower overnight -> performance-regression
job was preempted -> job-preempted
hit the wall time limit -> job-time-limit
somebody ran scancel -> job-cancelled
pod evicted by kubernetes -> pod-evicted
node went down -> node-failure
too many open files -> too-many-open-files
cannot fork resource temporarily unavailable -> process-limit-exhausted
dataloader worker exited unexpectedly -> dataloader-worker-crash
out of ram -> host-out-of-memory
oom killer -> host-out-of-memory
tensor shapes do not match in matmul -> tensor-shape-mismatch
tensors on different devices -> device-mismatch
expected half but got float -> dtype-mismatch
batch size not divisible by number of gpus -> batch-size-mismatch
number of heads not divisible by tensor parallel size -> parallelism-misconfigured
cannot download model from hugging face -> hub-download-failed
dataset file not found -> data-missing
corrupt image in dataset -> data-corrupt
cannot compile cuda extension -> extension-build-failed
undefined symbol when importing torch extension -> binary-incompatible
can't pickle local object -> pickle-spawn-failed
fp8 not supported on this gpu -> quantization-unsupported
unknown argument in config -> config-invalid
nccl version different between nodes -> nccl-version-mismatch
fabric manager not running -> fabric-manager-down
connection closed by peer gloo -> gloo-connection-closed
tcpstore broken pipe -> store-connection-lost
process group not initialized -> process-group-misuse
memlock limit too low rdma -> nccl-memory-registration-failed
gpu needs reset -> gpu-reset-required
gsp rpc timeout -> gpu-gsp-timeout
out of memory on tpu -> tpu-hbm-out-of-memory
cuda error but memory is free -> cuda-unknown-error cublas-failure cuda-out-of-memory
cublas not initialized -> cublas-failure
cudnn error -> cudnn-failure
zero3 empty weights size 0 -> zero3-params-not-gathered
illegal instruction core dumped on old cpu -> illegal-instruction
aborted core dumped sigabrt -> process-aborted
worker exited with code 1 and no error -> worker-exit-unexplained
heartbeat timeout -> peer-heartbeat-lost nccl-watchdog-hang
validation takes too long on rank 0 and the others time out -> rank-missing-collective collective-timeout
my job just hangs, nothing is printed -> silent-hang
all gpus at 100% but no progress -> silent-hang nccl-p2p-hang rank-missing-collective
rank 5 never reached the barrier -> rank-missing-collective rendezvous-timeout
watchdog killed my training -> collective-timeout nccl-watchdog-hang rank-missing-collective
allreduce timed out -> collective-timeout
loss is nan after 2000 steps -> loss-nan
gradient overflow skipping step over and over -> loss-scale-exhausted
ran out of vram -> cuda-out-of-memory
memory fragmentation -> cuda-out-of-memory
process disappeared without a message -> process-killed silent-hang worker-exit-unexplained
container was OOMKilled -> host-out-of-memory
the ram of the machine is full -> host-out-of-memory
dataloader workers crash with bus error -> shm-exhausted process-sigbus dataloader-worker-crash
port 29500 is taken -> port-in-use
another job uses the same master port -> port-in-use
lost connection to rank 0 -> store-connection-lost
remote process exited or there was a network error -> nccl-remote-error
ib cable -> nccl-ib-fault
nccl picks docker0 -> nccl-no-interface
only works with NCCL_P2P_DISABLE=1 -> nccl-p2p-hang
works on one gpu but not on two -> nccl-p2p-hang
gpu broken hardware -> gpu-ecc-error gpu-fell-off-bus gpu-xid-other gpu-reset-required
row remapping failure -> gpu-ecc-error
cuda version mismatch driver -> cuda-driver-mismatch
no cuda capable device detected -> cuda-device-unavailable
gpus are busy or unavailable exclusive mode -> cuda-device-unavailable
embedding index out of bounds -> cuda-device-assert
the lustre filesystem is slow or broken -> filesystem-fault
home quota exceeded -> disk-full
ulimit -n -> too-many-open-files
ulimit -l -> nccl-memory-registration-failed
ulimit -u -> process-limit-exhausted
spot instance was taken away -> job-preempted
job ran out of time -> job-time-limit
node reboot in the middle of training -> node-failure
typo in command line argument -> config-invalid
yaml key does not exist -> config-invalid
world size not divisible -> parallelism-misconfigured batch-size-mismatch
missing keys in state_dict -> checkpoint-incompatible
truncated checkpoint -> checkpoint-corrupt
safetensors header too large -> checkpoint-corrupt
401 gated repo -> hub-download-failed
no internet on compute nodes -> hub-download-failed
dataset path wrong -> data-missing
nvcc not found -> extension-build-failed
glibcxx not found -> binary-incompatible
numpy version conflict -> binary-incompatible
lambda cannot be pickled -> pickle-spawn-failed
flash attention only supports ampere gpus -> cuda-arch-unsupported
model too big for the kv cache -> kv-cache-insufficient
vllm crashed at startup -> engine-died kv-cache-insufficient
server throughput is half of yesterday -> performance-regression
one slow node -> rank-straggler
nvswitch not ready 802 -> fabric-manager-down
cuda initialization error 802 -> fabric-manager-down
find_unused_parameters -> ddp-unused-parameters
marked ready twice -> ddp-parameter-ready-twice
set_device local_rank wrong -> invalid-device-ordinal duplicate-gpu
slurm killed my step -> host-out-of-memory job-cancelled job-time-limit
exitcode 1 without traceback -> worker-exit-unexplained
signal 7 -> process-sigbus
signal 15 -> job-cancelled worker-exit-unexplained
sigterm from outside -> job-cancelled job-preempted
CUDA error: an illegal memory access was encountered -> cuda-illegal-memory-access
unspecified launch failure -> cuda-launch-failure
misaligned address -> cuda-misaligned-address
gpu stuck at P0 nvidia-smi hangs -> gpu-gsp-timeout
triton kernel compile error -> extension-build-failed
mat1 and mat2 shapes cannot be multiplied -> tensor-shape-mismatch
bf16 and fp32 mixed -> dtype-mismatch
""".strip().split("\n")
]


@pytest.mark.parametrize(("words", "failures"), QUERIES, ids=[words for words, _ in QUERIES])
def test_words_find_the_page(words, failures):
    found = [page.id for _, page in search_pages(LIBRARY, words, most=3)]
    assert set(found) & set(failures.split()), found


def test_every_expected_page_exists():
    assert {f for _, failures in QUERIES for f in failures.split()} <= set(LIBRARY.pages)


@pytest.mark.parametrize(
    ("line", "failure"),
    [
        ("[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "cuda-out-of-memory"),
        ("OSError: [Errno 98] Address already in use", "port-in-use"),
        ("NVRM: Xid (PCI:0000:4e:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", "gpu-fell-off-bus"),
    ],
)
def test_a_line_of_a_log_finds_the_page_that_recognises_it(line, failure):
    assert search_pages(LIBRARY, line)[0][1].id == failure


@pytest.mark.parametrize("words", ["hang", "hangs", "hanging", "hung", "stuck", "freeze"])
def test_forms_and_synonyms_of_a_word_find_the_same(words):
    assert "silent-hang" in [page.id for _, page in search_pages(LIBRARY, f"training {words}")]


@pytest.mark.parametrize("words", ["", "the of and", "zzzzqq", "!!! ???"])
def test_words_that_nobody_knows_find_nothing(words):
    assert search_pages(LIBRARY, words) == []


def test_the_best_page_comes_first_and_the_order_is_stable():
    found = search_pages(LIBRARY, "nccl timeout")
    assert [score for score, _ in found] == sorted((score for score, _ in found), reverse=True)
    assert found == search_pages(LIBRARY, "nccl timeout")
    assert len(search_pages(LIBRARY, "gpu error", most=4)) == 4
