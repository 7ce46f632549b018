import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CliProcess } from "../../src/cli/testing/cli-process.ts";

interface ProcessPlan {
  /** Holds the host's home. */
  folder: string;
  engine: string;
  schema: string;
  name: string;
  env?: Readonly<Record<string, string>>;
}

/** `agiraph serve --engine` in a process of its own: a host that can be killed. */
export class HostProcess implements AsyncDisposable {
  readonly cli: CliProcess;
  readonly url: string;
  readonly home: string;

  private constructor(cli: CliProcess, url: string, home: string) {
    this.cli = cli;
    this.url = url;
    this.home = home;
  }

  static async start({ folder, engine, schema, name, env = {} }: ProcessPlan): Promise<HostProcess> {
    const home = join(folder, name);
    const where = ["--engine", engine, "--schema", schema, "--host-name", name];
    const cli = new CliProcess(["serve", "--home", home, "--port", "0", "--json", ...where], { folder, env });
    await cli.saw('"pid"');
    const { url } = JSON.parse(cli.stdout) as { url: string };
    return new HostProcess(cli, url, home);
  }

  async ask(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${readFileSync(join(this.home, "token"), "utf8").trim()}`,
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return response.json();
  }

  async status(id: string): Promise<string | undefined> {
    const { agents } = (await this.ask("GET", "/agents")) as { agents: { id: string; status: string }[] };
    return agents.find((each) => each.id === id)?.status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cli.signal("SIGCONT");
    this.cli.signal("SIGKILL");
    await this.cli.ended;
  }
}
