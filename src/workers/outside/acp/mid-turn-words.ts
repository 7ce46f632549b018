/** Words that are said into a running turn, for agents that can take them there (Codex). */
export class MidTurnWords {
  readonly #inject: (text: string) => Promise<boolean>;
  readonly #sayLater: (text: string) => Promise<void>;
  #injected: string[] = [];
  /** What no model call can have read yet; the next that begins after an answer, of what the agent had taken by then, reads it. */
  #unread: { isTaken: boolean; isAnswered: boolean }[] = [];
  #underWay: Promise<void> = Promise.resolve();

  /** `inject` resolves with whether the agent took it; `sayLater` gets what it did not take. */
  constructor(inject: (text: string) => Promise<boolean>, sayLater: (text: string) => Promise<void>) {
    this.#inject = inject;
    this.#sayLater = sayLater;
  }

  say(text: string): void {
    const unread = { isTaken: false, isAnswered: false };
    this.#unread.push(unread);
    this.#underWay = this.#underWay.then(async () => {
      unread.isTaken = await this.#inject(text).catch(() => false);
      if (unread.isTaken) this.#injected.push(text);
      else await this.#sayLater(text);
    });
  }

  /**
   * One of its calls has a result: the model call that follows reads all that the agent had taken before. Of what it has
   * not taken yet nothing is known: this may be an old result, told late, and the model call that follows under way.
   */
  answered(): void {
    for (const each of this.#unread) each.isAnswered = each.isTaken;
  }

  /** Such a model call has begun to write. */
  isRead(): void {
    this.#unread = this.#unread.filter(({ isAnswered }) => !isAnswered);
  }

  /** Whether something is unread. */
  get hasUnread(): boolean {
    return this.#unread.length > 0;
  }

  /** Resolves when the agent has taken, or refused, all that was said so far. */
  get allDecided(): Promise<void> {
    return this.#underWay;
  }

  /** Whether something is unread; it is asked about once. */
  takeUnread(): boolean {
    return this.#unread.splice(0).length > 0;
  }

  /** The turn is over: resolves with what was said into it, when nothing is under way any more. */
  async turnEnds(): Promise<string[]> {
    await this.#underWay;
    this.#unread = [];
    return this.#injected.splice(0);
  }
}
