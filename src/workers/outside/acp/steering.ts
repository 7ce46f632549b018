/** Words that are said into a running turn, for agents that can take them there (Codex). */
export class Steering {
  readonly #inject: (text: string) => Promise<boolean>;
  readonly #sayLater: (text: string) => Promise<void>;
  #injected: string[] = [];
  #underWay: Promise<void> = Promise.resolve();

  /** `inject` resolves with whether the agent took it; `sayLater` gets what it did not take. */
  constructor(inject: (text: string) => Promise<boolean>, sayLater: (text: string) => Promise<void>) {
    this.#inject = inject;
    this.#sayLater = sayLater;
  }

  say(text: string): void {
    this.#underWay = this.#underWay.then(async () => {
      const isTaken = await this.#inject(text).catch(() => false);
      if (isTaken) this.#injected.push(text);
      else await this.#sayLater(text);
    });
  }

  /** The turn is over: resolves with what was said into it, when nothing is under way any more. */
  async turnEnds(): Promise<string[]> {
    await this.#underWay;
    return this.#injected.splice(0);
  }
}
