#!/bin/bash
#SBATCH --job-name=ticket-classifier
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=64
#SBATCH --time=04:00:00
#SBATCH --output=slurm-%j.out

set -euo pipefail

source /opt/venv/bin/activate
cd /job

export OMP_NUM_THREADS=4
export TOKENIZERS_PARALLELISM=false

torchrun --standalone --nproc-per-node 8 --tee 3 --log-dir logs \
    train.py --data data --steps 60 --log-ranks all --timeout 8
