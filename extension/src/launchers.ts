// Says whether a command line starts a training job on several ranks. Knows launchers by name only.

/** Commands that start jobs, behind any path, variables and other commands. */
const LAUNCHERS = [
  /torchrun/,
  /deepspeed/,
  /accelerate\s+launch/,
  /srun/,
  /(?:mpirun|mpiexec)/,
  /horovodrun/,
  /ray\s+job\s+submit/,
  /sbatch\s(?:.*\s)?(?:--wait|-W)/,
  /python[\d.]*\s(?:.*\s)?-m\s+(?:torch\.distributed\.\w+|accelerate\.commands\.launch|deepspeed\.launcher\.\w+)/,
];
const LAUNCHER = new RegExp(`(?:^|[\\s;&|(/])(?:${LAUNCHERS.map((launcher) => launcher.source).join("|")})(?=\\s|$)`);
/** Commands that only read or look things up, whatever launcher they name. */
const READERS = /^\s*(?:sudo\s+)?(?:cat|grep|rg|less|more|tail|head|man|which|type|vi|vim|nano|code|pip|conda|apt|ps|pkill|kill|killall|git)\s/;

/** Whether a command line starts a training job. */
export function startsTraining(commandLine: string): boolean {
  return LAUNCHER.test(commandLine) && !READERS.test(commandLine);
}
