import picocolors from "picocolors";

export type Paint = ReturnType<typeof picocolors.createColors>;

/** Colours if a person looks and has not turned them off: https://no-color.org. */
export function paintFor(stream: { isTTY?: boolean }, env: Readonly<Record<string, string | undefined>>): Paint {
  const forced = env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "0";
  const wanted = forced || (stream.isTTY === true && env.TERM !== "dumb");
  return picocolors.createColors(wanted && !env.NO_COLOR);
}

export const noPaint: Paint = picocolors.createColors(false);
