/** A result: its output, its content parts, and the rest of a truncated output in ranges. */
import { useState, type ReactNode } from "react";
import { InlineFailure } from "../server/inline-failure.tsx";
import { useConnection } from "../server/use-connection.ts";
import { ActionButton } from "../show/action-button.tsx";
import { UntrustedText, JsonBlock, TextBlock } from "../show/untrusted-text.tsx";
import { Section } from "../show/basic-components.tsx";
import { formatCount } from "../show/format.ts";
import type { CallResult } from "../timeline/call-entry.ts";

type Part = NonNullable<CallResult["content"]>[number];

export function ResultSection({ sessionId, result }: { readonly sessionId: string | undefined; readonly result: CallResult }): ReactNode {
  const { output, content, warnings, truncation } = result;
  return (
    <>
      {output !== undefined && (
        <Section title="Output">
          {typeof output === "string" ? <TextBlock text={output} label="Output" /> : <JsonBlock value={output} label="Output" />}
        </Section>
      )}
      {content !== undefined && content.length > 0 && (
        <Section title="Content">
          {content.slice(0, 100).map((part, index) => (
            <ContentView key={index} part={part} />
          ))}
        </Section>
      )}
      {warnings.length > 0 && (
        <Section title="Warnings">
          <ul className="lines">
            {warnings.map((warning, index) => (
              <li key={index}>
                <UntrustedText text={warning} maxLength={1_000} />
              </li>
            ))}
          </ul>
        </Section>
      )}
      {truncation !== undefined && sessionId !== undefined && (
        <WholeOutput sessionId={sessionId} callId={result.callId} shownBytes={truncation.shownBytes} totalBytes={truncation.totalBytes} />
      )}
    </>
  );
}

/** Images and audio are named and not shown, since their content is third-party. */
function ContentView({ part }: { readonly part: Part }): ReactNode {
  if (part.type === "text") return <TextBlock text={part.text} label="Text" />;
  if (part.type === "file")
    return (
      <p className="part">
        file <UntrustedText text={part.name ?? part.uri} />
        {part.text !== undefined && <TextBlock text={part.text} label="File" />}
      </p>
    );
  return (
    <p className="part">
      {part.type} <UntrustedText text={part.mediaType} />, {formatCount(Math.floor((part.data.length * 3) / 4))} bytes
    </p>
  );
}

const RANGE = 20_000;

interface WholeProps {
  readonly sessionId: string;
  readonly callId: string;
  readonly shownBytes: number;
  readonly totalBytes: number;
}

/** The output before it was truncated, one range at a time. */
function WholeOutput({ sessionId, callId, shownBytes, totalBytes }: WholeProps): ReactNode {
  const { client } = useConnection();
  const [part, setPart] = useState<{ readonly text: string; readonly from: number; readonly next: number; readonly total: number }>();
  const [failure, setFailure] = useState<unknown>();
  const readFrom = async (from: number): Promise<void> => {
    try {
      setPart(await client.call("getCallOutput", { params: { callId }, query: { sessionId, from, maxChars: RANGE } }));
      setFailure(undefined);
    } catch (thrown: unknown) {
      setFailure(thrown);
    }
  };
  return (
    <Section title="Whole output">
      <p className="muted">
        The model was shown {formatCount(shownBytes)} of {formatCount(totalBytes)} bytes.
      </p>
      {part !== undefined && (
        <>
          <p className="muted number">
            Characters {formatCount(part.from)} to {formatCount(part.next)} of {formatCount(part.total)}
          </p>
          <TextBlock key={part.from} text={part.text} label="Part of the whole output" />
        </>
      )}
      <div className="button-row">
        {part === undefined ? (
          <button type="button" className="button" onClick={() => void readFrom(0)}>
            Read it
          </button>
        ) : (
          <>
            <ActionButton isOff={part.from === 0} onClick={() => void readFrom(Math.max(0, part.from - RANGE))}>
              Earlier
            </ActionButton>
            <ActionButton isOff={part.next >= part.total} onClick={() => void readFrom(part.next)}>
              Later
            </ActionButton>
          </>
        )}
      </div>
      <InlineFailure error={failure} />
    </Section>
  );
}
