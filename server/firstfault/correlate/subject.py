"""Says what the inputs are about: a training or serving job, something else, or a short excerpt that does not tell.

Knows the names of programs, and no failure. A web server's stack trace is none of our business, however loud.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Iterable, Sequence

from ..model import Line
from .ranks import is_place
from .reading import FileReading

EXCERPT_LINES = 200
# One line in this many must speak of a job, up to so many lines; a word here and there in a month of system messages is no job.
_ONE_LINE_IN = 400
_ENOUGH_LINES = 4
_LONGEST_TEXT = 2000


class Subject(enum.Enum):
    """What inputs are about. `UNSAID`: an excerpt in which nothing speaks of a job, and nothing of another kind of program."""

    JOB = "job"
    OTHER = "other"
    UNSAID = "unsaid"


# What only the programs, libraries and launchers of such jobs print, each behind a word that is quickly looked for in lower case.
# Common words such as rank, epoch, GPU or elastic prove nothing; hexadecimal digits may spell c10d.
_JOB = (
    ("torch", r"\b(?:py)?torch\w{0,12}\b|\btorch_|[Pp]y[Tt]orch"),
    ("c10", r"(?<![-\w])c10(?:d\b(?!-)|::|/)"),
    ("process", r"ProcessGroup|process group|Killed process \d+,? \((?:python|pt_|ray|torchrun)"),
    ("rank", r"\[[Rr]ank ?\d|\brank\d+\]"),
    ("world", r"world[_ ]size|WORLD_SIZE"),
    ("master_addr", r"MASTER_ADDR"),
    ("pt_", r"\bpt_(?:main|data|elastic)"),
    ("cu", r"\b(?:cuda|CUDA|cu[Bb][Ll][Aa][Ss]|cu[Dd][Nn][Nn])(?![-a-z])|\b(?:cuda|cublas|cudnn)[A-Z]\w+"),
    ("ccl", r"\b(?:[RHO]CCL|N[Cc][Cc][Ll]|nccl|rccl|hccl)(?![-a-z])|\b(?:nccl|hccl)[A-Z]\w+"),
    ("gloo", r"\bgloo\b"),
    ("oneccl", r"\boneCCL\b"),
    ("ccl_", r"\|CCL_(?:ERROR|WARN|INFO)\|"),
    ("habana", r"(?i)\bhabana"),
    ("musa", r"\bMUSA (?:error|out of memory)"),
    ("mlu", r"\bMLU out of memory"),
    ("neuron", r"\bNEURON_RT_|\bNeuron(?:Core| Device)"),
    ("dali", r"\bnvidia/dali\b|/opt/dali/"),
    ("byteps", r"(?i)\bbyteps\b"),
    ("dmlc_", r"\bDMLC_(?:ROLE|NUM_|PS_)"),
    ("oneflow", r"(?i)\boneflow\b"),
    ("mpi4py", r"\bmpi4py\b"),
    ("hip", r"\bHIP error|\bhip[A-Z]\w+"),
    ("rocm", r"\bROC[Mm]\b|\brocm"),
    ("miopen", r"\bMIOpen"),
    ("hsa_", r"\bHSA_STATUS"),
    ("ascend", r"\bAscend"),
    ("pu", r"\b(?:HPU|NPU|TPU|libtpu)(?![-a-z])"),
    ("xla", r"\bXLA(?![-a-z])|\bxla[./:]"),
    ("jax", r"\bjaxlib\b|\bimport jax\b|\bjax[./]|\bJAX (?:distributed|process|backend|coordination)"),
    ("jax_", r"\bjax_[a-z]\w+"),
    ("flax", r"\bflax\b"),
    ("orbax", r"\borbax\b"),
    ("optax", r"\boptax\b"),
    ("sharding", r"\b(?:Pmap|Named|Positional|GSPMD|SingleDevice)Sharding\b"),
    ("levanter", r"\blevanter\b"),
    ("coordination service", r"(?i)coordination service"),
    ("xid", r"Xid \(PCI|SXid"),
    ("nvrm", r"\bNVRM: "),
    ("mlx", r"\bmlx[45]_(?:core|ib|bond|\d)"),
    ("ucx", r"\bUCX +(?:ERROR|WARN|DIAG|INFO)\b"),
    ("shmem", r"(?i)\bnvshmem"),
    ("ib", r"\bib_(?:write|send|read|atomic)_(?:bw|lat)\b|\bibv_\w+"),
    ("nvidia-smi", r"nvidia-smi"),
    ("dcgm", r"(?i)\bdcgm"),
    ("fabric", r"(?i)\bfabric[- ]?manager"),
    ("deepspeed", r"(?i)deepspeed"),
    ("megatron", r"(?i)megatron"),
    ("nemo", r"\bNeMo\b|\bnemo[./]"),
    ("fairseq", r"fairseq"),
    ("mm", r"\bmm(?:engine|cv|detection|pretrain)\b"),
    ("detectron", r"(?i)detectron"),
    ("timm", r"\btimm[./]"),
    ("colossal", r"(?i)colossal(?:ai|chat)"),
    ("horovod", r"(?i)horovod"),
    ("paddle", r"\bPADDLE_|PaddlePaddle|\bpaddle[./]"),
    ("dist.", r"\bdist\.(?:all_|broadcast|barrier|init_process_|new_group|reduce)"),
    ("hugectr", r"HugeCTR"),
    ("maxtext", r"MaxText"),
    ("nanogpt", r"(?i)nanogpt"),
    ("lightning", r"pytorch_lightning|\blightning(?:_fabric|_utilities|\.pytorch|/)"),
    ("accelerate", r"\baccelerate (?:launch|config)|\baccelerate[./]"),
    ("transformers", r"/transformers/|(?:from|import) transformers\b|\btransformers[./](?:[a-z_]+[./])*(?:[a-z_]+\.py|Auto|Trainer)"),
    ("hugging", r"(?i)hugging_?face"),
    ("text_generation_", r"\btext_generation_(?:launcher|server)"),
    ("llamafactory", r"(?i)\bllamafactory"),
    ("axolotl", r"(?i)\baxolotl"),
    ("unsloth", r"(?i)\bunsloth"),
    ("diffusers", r"\bdiffusers[/.]"),
    ("flash_attn", r"\bflash_attn"),
    ("bitsandbytes", r"\bbitsandbytes"),
    ("ultralytics", r"\bultralytics[/.]"),
    ("espnet", r"\bespnet"),
    ("speechbrain", r"\bspeechbrain"),
    ("triton/", r"\btriton/(?:runtime|compiler|backends)/"),
    ("hf_", r"\bhf_hub"),
    ("dataloader", r"(?i)\bdataloader"),
    ("loss.backward", r"\bloss\.backward"),
    ("optimizer", r"\boptimizer\.(?:step|state)"),
    ("tokenizer", r"\btokenizers?\b"),
    ("vllm", r"(?i)\bvllm(?![a-z])"),
    ("sglang", r"(?i)\bsglang(?![a-z])"),
    ("tensorrt", r"(?i)\btensorrt"),
    ("trtllm", r"trtllm"),
    ("tritonserver", r"tritonserver"),
    ("enginecore", r"EngineCore"),
    ("tensorflow", r"(?i)\btensorflow(?![a-z])"),
    ("keras", r"(?i)\bkeras(?![a-z])"),
    ("mxnet", r"(?i)\bmxnet(?![a-z])"),
    ("paddle", r"(?i)\bpaddle(?:paddle)?(?![a-z])"),
    ("mindspore", r"(?i)\bmindspore"),
    ("espnet", r"(?i)\bespnet"),
    ("flash", r"\bflash[_-]attn"),
    ("xformers", r"\bxformers\b"),
    ("bitsandbytes", r"\bbitsandbytes\b"),
    ("lmdeploy", r"(?i)\blmdeploy(?![a-z])"),
    ("turbomind", r"(?i)\bturbomind"),
    ("trl", r"\btrl/(?:[a-z_]+/)*[a-z_]+\.py|(?:from|import) trl\b"),
    ("peft", r"\bpeft/(?:[a-z_]+/)*[a-z_]+\.py|(?:from|import) peft\b"),
    ("swift", r"\bswift/(?:llm|megatron|plugin|pipelines|trainers)/|\bswift/cli/(?:sft|pt|rlhf|infer|deploy|eval|export|_megatron)\b"),
    ("openrlhf", r"(?i)\bopenrlhf"),
    ("nemo_rl", r"\bnemo_rl[/.]"),
    ("skyrl", r"\bskyrl\w*[/.]"),
    ("rlinf", r"\brlinf[/.]"),
    ("areal/", r"\bareal/"),
    ("verl", r"\bverl[./]"),
    ("roll/", r"\broll/(?:configs|distributed|pipeline)/"),
    ("slime/", r"\bslime/(?:backends|ray|rollout|utils)/"),
    ("miles/", r"\bmiles/(?:backends|ray|rollout|utils)/"),
    ("prime_rl", r"\bprime_rl[./]"),
    ("open_instruct", r"\bopen_instruct[./]"),
    ("composer", r"\bcomposer[./](?:callbacks|cli|core|trainer|utils)\b"),
    ("llmfoundry", r"\bllmfoundry[./]"),
    ("litgpt", r"\blitgpt[./]"),
    ("neox", r"(?i)\bgpt[-_]neox"),
    ("across cluster", r"\[repeated \d+x across cluster\]"),
    ("ggml", r"\bggml_"),
    ("pbs", r"\bPBS: job killed|\bPBS_"),
    ("lsf", r"\bLSB_|\bLSF\b|TERM_(?:MEM|RUN)LIMIT"),
    ("ray", r"\bray::|RayTask|\bRay\w{0,24}(?:Worker|Actor)|\braylet\b|\bray\.[a-z]"),
    ("/ray/", r"/ray/(?:_private|air|data|rllib|serve|train|tune|util)/"),
    ("traincontroller", r"\bTrainController\b"),
    ("workerdict", r"\bWorkerDict\b"),
    ("slurm", r"slurmstepd|SLURM_|\bslurm[._]"),
    ("srun", r"\bsrun[: ]"),
    ("scancel", r"\bscancel\b"),
    ("sbatch", r"\bsbatch\b"),
    ("step", r"\bSTEP \d+\.\d+ ON |StepId=\d"),
    ("mpi", r"\bmpirun\b|\bmpiexec\b|MPIJob"),
    ("orte", r"\borted\b|\bORTE"),
    ("prte", r"PRTE|\bprterun\b"),
    (".py", r"(?:\b|_)(?:pre|post)?train\w*\.py|\b(?:finetune|fine_tune|sft|dpo|ppo|grpo|bert|gpt|llama)\w*\.py"),
    ("iteration", r"iteration +\d+/ *\d+ \||elapsed time per iteration"),
    ("lm loss", r"\blm loss"),
    ("grad", r"\bgrad[_ ]norm"),
    ("learning", r"\blearning[_ ]rate"),
    ("loss': ", r"\{'(?:train_)?loss': "),
    ("flwr", r"\bflwr\b"),
    ("nnu", r"\bnn(?:U-?Net|unet)"),
    ("batchgenerators", r"\bbatchgenerators"),
    ("wandb", r"\bwandb\b"),
    ("python", r"(?:task|name|comm)=python"),
    # step 40 … loss: 2.31, epoch 3 loss=0.4
    ("loss", r"(?i)\b(?:step|iter\w*|epoch|batch)\b.{0,200}?(?<![a-z])(?:\w{1,20}_)?loss['\"]?(?: is)?[ :=]{1,3}-?(?:\d|nan|inf)"),
)
# Programs that are never part of such a job, by what only they print.
_OTHER = (
    r"\b(?:nginx|httpd|apache2|haproxy|php(?:-fpm)?|PHP|[Tt]omcat|uWSGI|gunicorn|werkzeug|[Dd]jango|[Ff]lask|celery|airflow|ActiveRecord|Kestrel"
    r"|mysqld?|MySQL|InnoDB|mariadbd?|postgres(?:ql)?|PostgreSQL|postmaster|psycopg2?|sqlalchemy|redis-server|mongod|MongoDB|[Ee]lasticsearch"
    r"|[Kk]afka|[Zz]oo[Kk]eeper|etcd(?:server|main)?|tsdb|sshd|postfix|dovecot|named\[\d+\]|slapd|CRON|logrotate|firefox|chrome|systemd-oomd|journald"
    r"|springframework|[Hh]ibernate|[Gg]radle\w*|maven|hudson|npm|webpack|node:(?:net|fs|internal)|node_modules|beam\.smp|goroutine)(?![\w-])"
    r"|^\tat |\bat [\w.$]+\([\w$]+\.(?:java|scala|kt):\d+\)|\bjavax?\.|\bcom\.example\.|\borg\.apache\.|thread '[^']{1,60}' panicked"
    r"|^\d{4}/\d\d/\d\d [\d:]{8} \[(?:emerg|alert|crit|error|warn|notice)\] \d+#\d+: "
    r"|\bAH0\d{4}:|\b(?:listen|dial|accept) tcp |caller=\w+\.go:|Error: (?:ENOSPC|EMFILE|EADDRINUSE|ECONNREFUSED)"
)


def subject_of(files: Sequence[FileReading]) -> Subject:
    """What the inputs together are about: a job where any of them is about one."""
    if any(_is_job(f) for f in files):
        return Subject.JOB
    if is_excerpt(files) and not any(_expression(_OTHER).search(line.raw[:_LONGEST_TEXT]) for f in files for line in _kept(f)):
        return Subject.UNSAID
    return Subject.OTHER


def is_excerpt(files: Sequence[FileReading]) -> bool:
    """Whether somebody picked these few lines: then a specific failure counts although nothing around it speaks of a job."""
    return sum(f.line_count for f in files) <= EXCERPT_LINES


def _kept(file: FileReading) -> Iterable[Line]:
    yield from file.samples
    yield from file.lines


def _is_job(file: FileReading) -> bool:
    seen = {line.number for line in _kept(file)}
    needed = max(1, min(_ENOUGH_LINES, len(seen) // _ONE_LINE_IN))
    speaking: set[int] = set()
    for line in _kept(file):
        if line.number not in speaking and _speaks_of_a_job(line):
            speaking.add(line.number)
            if len(speaking) >= needed:
                return True
    return False


def _speaks_of_a_job(line: Line) -> bool:
    if line.origin.rank is not None or line.origin.local_rank is not None or is_place(line.origin.label):
        return True
    text = line.raw if len(line.raw) <= _LONGEST_TEXT else line.raw[: _LONGEST_TEXT // 2] + " " + line.raw[-_LONGEST_TEXT // 2 :]
    low = text.lower()
    return any(word in low and _expression(expression).search(text) is not None for word, expression in _JOB)


@functools.cache
def _expression(source: str) -> re.Pattern[str]:
    """A compiled expression: most are never needed for one log, and compiling all of them would take longer than a diagnosis."""
    return re.compile(source)
