import type { Limits } from "../bounds/limits.ts";

/**
 * What bash does before the command: the lifeline (PROCESS-3), limits, and the lowest priority for processor and
 * memory.
 */
export function prologue({ limits, timeoutMs, linux, isInside = false, before = "" }: Prologue): string {
  const bounds = [
    "ulimit -c 0",
    `ulimit -f ${bound(limits.fileBytes / 1024)}`,
    `ulimit -u ${bound(limits.processes)}`,
    // A program that lives on has no such time, and reserves address space by the dozen of gigabytes without using it.
    ...(timeoutMs === null ? [] : [`ulimit -t ${Math.ceil(timeoutMs / 1000) * 64}`]),
    ...(linux && timeoutMs !== null ? [`ulimit -v ${bound(limits.addressSpaceBytes / 1024)}`] : []),
    ...(linux ? ["echo 1000 >/proc/self/oom_score_adj"] : []),
  ];
  return [
    "read -t 0 -u 3 && exit 125",
    before,
    // One stream for all the words of a command.
    timeoutMs === null ? "" : "exec 2>&1",
    // Descriptors that we inherited from our own parent, and that Node passes on.
    'cd /dev/fd && for fd in *; do [ "$fd" -gt 3 ] 2>/dev/null && eval "exec $fd>&-"; done; cd "$OLDPWD"; unset OLDPWD',
    timeoutMs === null ? 'command -v -- "$1" >/dev/null || { echo "$1 is not there inside" >&2; exit 127; }' : "",
    // A bound of the machine that is tighter than ours stays as it is.
    ...bounds.map((bound) => `{ ${bound}; } 2>/dev/null`),
    ...(linux && !isInside ? [untilParentSleeps] : []),
    "read -t 0 -u 3 && exit 125",
    "echo >&3; exec 3>&-",
    timeoutMs === null ? 'exec nice -n 10 "$@"' : 'exec nice -n 10 bash --noprofile --norc -c "$1" bash',
  ]
    .filter(Boolean)
    .join("\n");
}

/**
 * Without a namespace around it: bubblewrap's first process inside asks to die with its parent only after it has started
 * us. Until it sleeps, waiting for us, it might not: a script that finds us dead by then has to exit by itself.
 */
const untilParentSleeps = `until read -r _ _ state _ </proc/1/stat && [ "$state" = S ]; do
  read -r -t 0.005 -u 3; [ $? -gt 128 ] || exit 125
done
unset state`;

const bound = (value: number) => (Number.isFinite(value) ? Math.ceil(value) : "unlimited");

interface Prologue {
  limits: Limits;
  /** Null for a program, which has no time to end by; its arguments are then the script's own. */
  timeoutMs: number | null;
  linux: boolean;
  /** Whether it is inside a namespace that ends it with us. */
  isInside?: boolean;
  before?: string;
}
