/** Keeps the page standing when a screen cannot be drawn. */
import { Component, type ReactNode } from "react";
import { Inert } from "../show/inert.tsx";
import { PartMissing } from "../show/late.ts";
import { Notice } from "../show/parts.tsx";

interface Props {
  /** The address of the screen: another one is drawn afresh. */
  readonly place: string;
  readonly children: ReactNode;
}

interface State {
  readonly failure: Error | undefined;
}

/** In place of a screen whose drawing threw: what was thrown, and a way on. The menu stays. */
export class FailedScreen extends Component<Props, State> {
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
          <Inert text={failure.message} maxLength={500} />
        </p>
        <button type="button" className="button" onClick={() => this.#again()}>
          Draw it again
        </button>
      </Notice>
    );
  }

  #again(): void {
    if (this.state.failure instanceof PartMissing) window.location.reload();
    else this.setState({ failure: undefined });
  }
}
