import type { DeclaredAgent } from "../declaration/declared-agent.ts";
import type { DeclaredMesh } from "../declaration/declared-mesh.ts";
import type { MeshMessage } from "../files/mesh-message.ts";
import type { Member } from "./member.ts";

/**
 * The members that were created for the agents of a project's meshes.
 *
 * MEMBERS-1. A member that was created for an older declaration finishes its current task; the next task goes to a new
 *     member.
 */
export class MemberRegistry {
  readonly #make: (mesh: DeclaredMesh, agent: DeclaredAgent) => Member;
  readonly #members = new Map<string, Member>();
  readonly #outdated = new Set<string>();

  constructor(make: (mesh: DeclaredMesh, agent: DeclaredAgent) => Member) {
    this.#make = make;
  }

  async tell(declared: DeclaredMesh | undefined, mesh: string, agent: string, message: MeshMessage): Promise<void> {
    if (message.header.type === "task" && this.#outdated.delete(keyOf(mesh, agent))) await this.dismiss(mesh, agent);
    await this.member(declared, mesh, agent).tell(message);
  }

  member(declared: DeclaredMesh | undefined, mesh: string, agent: string): Member {
    const key = keyOf(mesh, agent);
    const there = this.#members.get(key);
    if (there) return there;
    const who = declared?.agents.get(agent);
    if (!declared || !who) throw new Error(`${key} is not declared.`);
    const member = this.#make(declared, who);
    this.#members.set(key, member);
    this.#outdated.delete(key);
    return member;
  }

  /** The agents of a mesh that have a member now. */
  startedOf({ config: { mesh }, agents }: DeclaredMesh): string[] {
    return [...agents.keys()].filter((agent) => this.#members.has(keyOf(mesh, agent)));
  }

  /** The agent is declared otherwise now. */
  outdate(mesh: string, agent: string): void {
    this.#outdated.add(keyOf(mesh, agent));
  }

  /** Ends the session of an agent; the next message starts another. */
  async dismiss(mesh: string, agent: string): Promise<void> {
    const key = keyOf(mesh, agent);
    const member = this.#members.get(key);
    this.#members.delete(key);
    this.#outdated.delete(key);
    await member?.close();
  }
}

function keyOf(mesh: string, agent: string): string {
  return `${mesh}/${agent}`;
}
