import { Database } from "../../engine/database.ts";
import { engineAddress } from "../../engine/engine-address.ts";
import { type ListedHost, listHosts, setDraining } from "../../engine/host-list.ts";
import { ENGINE_VERSION, engineVersion } from "../../engine/migrations.ts";
import { EXIT, type ExitCode, Refusal, UsageError } from "../exit-code.ts";
import { engineOf } from "../home/engine-choice.ts";
import { settingsOf } from "../home/look.ts";
import { runningServer } from "../home/other-process.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import { age, count, timestamp } from "../wording/format.ts";
import { type Cell, table } from "../wording/table.ts";

interface HostsOptions {
  undo?: boolean;
  engine?: string;
  schema?: string;
}

/** What can be asked of the hosts: of the server in this home, or of their engine. */
interface Hosts {
  list(): Promise<ListedHost[]>;
  drain(host: string, isDraining: boolean): Promise<string[]>;
}

/** `hosts`, `hosts drain HOST`. */
export async function hosts(
  call: Invocation,
  action: string | undefined,
  host: string | undefined,
  options: HostsOptions,
): Promise<ExitCode> {
  if (action === undefined) return withHosts(call, options, (all) => list(call, all));
  if (action !== "drain")
    throw new UsageError(
      `There is no command "hosts ${action}", only drain. For example: ${commandLine(call, "hosts", "drain", "machine-2")}`,
    );
  if (host === undefined)
    throw new UsageError(`Name the host to drain, for example: ${commandLine(call, "hosts", "drain", "machine-2")}`);
  return withHosts(call, options, (all) => drain(call, all, host, options.undo !== true));
}

async function list({ terminal, json }: Invocation, all: Hosts): Promise<ExitCode> {
  const listed = await all.list();
  if (json) {
    for (const host of listed) await terminal.printJson(host);
    return EXIT.done;
  }
  if (listed.length === 0) {
    terminal.say("No host works from this engine. Start one: agiraph serve --engine URL");
    return EXIT.done;
  }
  const { paint } = terminal;
  const at = Math.max(...listed.map(({ heard }) => heard));
  const head = ["HOST", "STATE", "AGENTS", "SINCE", "HEARD", "TAKEN OVER", "VERSION"];
  const rows = listed.map((host): Cell[] => [
    { text: host.name, paint: paint.bold },
    { text: stateOf(host), ...(host.is_lost && { paint: paint.red }) },
    { text: String(host.agents) },
    { text: timestamp(host.since) },
    { text: `${age(Math.max(0, at - host.heard))} ago` },
    { text: String(host.take_overs) },
    { text: host.version },
  ]);
  const headCells = head.map((text): Cell => ({ text, paint: paint.dim }));
  await terminal.printLines(table([headCells, ...rows], terminal.lineColumns));
  return EXIT.done;
}

function stateOf({ is_lost, is_draining, agents }: ListedHost): string {
  if (is_lost) return "lost";
  return is_draining ? (agents === 0 ? "drained" : "draining") : "there";
}

async function drain(call: Invocation, all: Hosts, host: string, isDraining: boolean): Promise<ExitCode> {
  const { terminal, json } = call;
  const named = await all.drain(host, isDraining);
  if (named.length === 0)
    throw new Refusal(`There is no host "${host}". Those there are: ${commandLine(call, "hosts")}`);
  if (json) await terminal.printJson({ hosts: named, is_draining: isDraining });
  const which = count(named.length, "host");
  terminal.say(
    isDraining
      ? `${host} (${which}) finishes its turns, gives its agents to the others and takes nothing new. See: ${commandLine(call, "hosts")} · undo: ${commandLine(call, "hosts", "drain", host, "--undo")}`
      : `${host} (${which}) takes agents again.`,
  );
  return EXIT.done;
}

async function withHosts(
  call: Invocation,
  options: HostsOptions,
  work: (all: Hosts) => Promise<ExitCode>,
): Promise<ExitCode> {
  const settings = await settingsOf(call, { isOnlyLooking: true, isTold: false });
  const url = engineOf(settings, options);
  const client = url === undefined ? await runningServer(settings) : undefined;
  if (client)
    return work({
      list: async () => (await client.hosts()).hosts,
      drain: async (host, isDraining) => (await client.drainHost(host, { undo: !isDraining })).hosts,
    });
  if (url === undefined)
    throw new UsageError(
      `Say where the engine is: ${commandLine(call, "hosts", "--engine", "postgres://USER@HOST/DATABASE")}. Or set AGIRAPH_ENGINE, or "engine" in config.json.`,
    );
  await using database = new Database(engineAddress(url, options.schema));
  const isOurs = (await engineVersion(database)) === ENGINE_VERSION;
  return await work({
    list: async () => (isOurs ? listHosts(database) : []),
    drain: async (host, isDraining) => (isOurs ? setDraining(database, host, isDraining) : []),
  });
}
