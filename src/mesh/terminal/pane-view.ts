/** What tmux says of a terminal at one moment. */
export interface PaneView {
  screen: string[];
  title: string;
  isDead: boolean;
  /** How it ended. */
  status: string;
  cursor: string;
  width: number;
  /** Somebody besides us sits before it. */
  isWatched: boolean;
  /** When a person last pressed a key there, and when this was seen: in seconds, by the clock of tmux. */
  keys: number;
  now: number;
}

export function cursorOf(cursor: string): { x: number; y: number; history: number } {
  const [x = 0, y = 0, history = 0] = cursor.split(",").map(Number);
  return { x, y, history };
}
