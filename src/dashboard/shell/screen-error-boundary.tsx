/** Keeps the page working when a screen, or the whole page, cannot be rendered. */
import { Component, type ReactNode } from "react";
import { UntrustedText } from "../show/untrusted-text.tsx";
import { MissingPartError } from "../show/lazy-screen.ts";
import { Notice } from "../show/basic-components.tsx";

interface Props {
  /** The address of the screen: the error is reset when it changes. @default the whole page, which is rendered again on request */
  readonly place?: string;
  readonly children: ReactNode;
}

interface State {
  readonly failure: Error | undefined;
}

/** An error boundary. Shows the error and what to do in place of the failed screen; the menu stays. */
export class ScreenErrorBoundary extends Component<Props, State> {
  override state: State = { failure: undefined };

  static getDerivedStateFromError(thrown: unknown): State {
    return { failure: thrown instanceof Error ? thrown : new Error(String(thrown)) };
  }

  override componentDidUpdate({ place }: Props): void {
    if (place !== this.props.place && this.state.failure !== undefined) this.setState({ failure: undefined });
  }

  override render(): ReactNode {
    const { failure } = this.state;
    if (failure === undefined) return this.props.children;
    return (
      <Notice isFailure title="This screen could not be drawn.">
        <p>
          <UntrustedText text={failure.message} maxLength={500} />
        </p>
        <p>If the server was replaced by one of another version, reload the page.</p>
        <button type="button" className="button" onClick={() => window.location.reload()}>
          Reload the page
        </button>
        {!(failure instanceof MissingPartError) && (
          <button type="button" className="button" onClick={() => this.setState({ failure: undefined })}>
            Draw it again
          </button>
        )}
      </Notice>
    );
  }
}
