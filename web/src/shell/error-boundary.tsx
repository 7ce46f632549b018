import { Component, type ReactNode } from "react";

interface ErrorBoundaryProps {
  /** What could not be shown, as the beginning of a sentence. */
  what: string;
  /** When this is another, it is tried again. */
  of: string;
  /** In the midst of other things: one line, and no button. */
  isSmall?: boolean;
  children: ReactNode;
}

/**
 * An error boundary: what cannot be rendered, or loaded, affects only its own place; without it the whole page would be
 * empty.
 */
export class ErrorBoundary extends Component<ErrorBoundaryProps, { problem: string | null; of: string }> {
  override state = { problem: null as string | null, of: this.props.of };

  static getDerivedStateFromError(error: unknown) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }

  static getDerivedStateFromProps({ of }: ErrorBoundaryProps, state: { of: string }) {
    return of === state.of ? null : { of, problem: null };
  }

  override render() {
    const { problem } = this.state;
    if (problem === null) return this.props.children;
    const words = `${this.props.what} cannot be shown: ${problem.slice(0, 300)}`;
    if (this.props.isSmall) return <p className="px-5 py-1 text-[13px] text-bad [overflow-wrap:anywhere]">{words}</p>;
    return (
      <div className="grid h-full place-items-center p-8" role="alert">
        <div className="max-w-md text-center">
          <p className="text-bad [overflow-wrap:anywhere]">{words}</p>
          <p className="mt-2 text-dim">Nothing is lost: the agents keep working, and everything is recorded.</p>
          <button
            type="button"
            onClick={() => location.reload()}
            className="mt-4 min-h-11 rounded-md px-3 font-semibold text-accent hover:bg-hover md:min-h-8"
          >
            Reload the page
          </button>
        </div>
      </div>
    );
  }
}
