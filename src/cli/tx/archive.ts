import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { count } from "../wording/format.ts";
import { layoutOf, startedMeshes, type TxCall, unknown } from "./project.ts";

/** Goes through the server, which knows its own moves; files that this process moved would count as moved by hand. */
export async function archive(call: TxCall, mesh: string, { days = "7" }: { days?: string }): Promise<ExitCode> {
  const daysOld = Number(days);
  if (!(daysOld >= 0)) throw new UsageError(`--days "${days}": expected a number of days, such as 7.`);
  const { client, view } = await startedMeshes(call, layoutOf(call));
  const names = view.meshes.map((one) => one.mesh);
  if (!names.includes(mesh)) throw new UsageError(unknown("mesh", mesh, names));
  const { archived } = await client.give({ do: "archive_mesh", id: view.id, mesh, days: daysOld });
  if (call.json) await call.terminal.printJson({ mesh, archived });
  call.terminal.say(`${count(archived, "message")} moved to archive/.`);
  return EXIT.done;
}
