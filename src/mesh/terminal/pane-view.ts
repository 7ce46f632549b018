/** What tmux reports about a terminal at one moment. */
export interface PaneView {
  screen: string[];
  title: string;
  isDead: boolean;
  /** The exit status of the program, once it has ended. */
  status: string;
  cursor: string;
  width: number;
  /** A client other than ours is attached. */
  isWatched: boolean;
  /** When a person last pressed a key there, and when this was seen: in seconds, by the clock of tmux. */
  keys: number;
  now: number;
}

export function cursorOf(cursor: string): { x: number; y: number; history: number } {
  const [x = 0, y = 0, history = 0] = cursor.split(",").map(Number);
  return { x, y, history };
}
