/** Components for third-party text: text nodes only, isolated from the text direction around them. */
import { Fragment, memo, useState, type ReactNode } from "react";
import { escapeForJson, truncateText, SHOWN_CHARACTERS, textPieces, showHiddenCharacters } from "./text-pieces.ts";
import { jsonTokens } from "./json-tokens.ts";
import { formatCount } from "./format.ts";

/** A name, a reason or a message on one line or several, cut at `maxLength`. */
export function UntrustedText({ text, maxLength = 300 }: { readonly text: string; readonly maxLength?: number }): ReactNode {
  return <bdi>{renderPieces(truncateText(text, maxLength))}</bdi>;
}

/** A qualified name with a dimmed namespace. */
export function ToolName({ name }: { readonly name: string }): ReactNode {
  const at = name.indexOf("::");
  const shown = showHiddenCharacters(name, 160);
  if (at < 0 || shown !== name) return <bdi className="tool-name">{shown}</bdi>;
  return (
    <bdi className="tool-name" title={name}>
      <span className="namespace">{name.slice(0, at)}::</span>
      {name.slice(at + 2)}
    </bdi>
  );
}

/** Text of any length in a block, with a button to show more. */
export function TextBlock({ text, label }: { readonly text: string; readonly label: string }): ReactNode {
  const [shown, setShown] = useState(SHOWN_CHARACTERS);
  return (
    <ScrollBlock label={label}>
      <bdi>{renderPieces(truncateText(text, shown))}</bdi>
      {text.length > shown && <ShowMoreButton left={text.length - shown} onMore={() => setShown(shown + SHOWN_CHARACTERS * 5)} />}
    </ScrollBlock>
  );
}

/** Strings of JSON; the last one may be cut. */
const JSON_STRINGS = /("(?:[^"\\]|\\.)*"?)/u;

/** A line of JSON, cut at `maxLength`. Each string is isolated: text from right to left in names and values would change their places. */
export function JsonLine({ text, maxLength }: { readonly text: string; readonly maxLength: number }): ReactNode {
  const parts = truncateText(text, maxLength).split(JSON_STRINGS);
  return (
    <bdi dir="ltr">
      {parts.map((part, index) =>
        index % 2 === 0 ? (
          <Fragment key={index}>{renderPieces(part)}</Fragment>
        ) : (
          <bdi key={index} dir="ltr">
            {renderPieces(part, escapeForJson)}
          </bdi>
        ),
      )}
    </bdi>
  );
}

/** Any JSON, indented. Reads from left to right, whatever the strings in it are. Text that is copied from it is the same JSON. */
export const JsonBlock = memo(function JsonBlock({ value, label }: { readonly value: unknown; readonly label: string }): ReactNode {
  const [budget, setBudget] = useState(SHOWN_CHARACTERS);
  const { tokens, isCut } = jsonTokens(value, budget);
  return (
    <ScrollBlock label={label}>
      <bdi dir="ltr">
        {tokens.map(({ kind, text }, index) =>
          kind === "mark" ? (
            <Fragment key={index}>{text}</Fragment>
          ) : (
            <bdi key={index} dir="ltr" className={`json-${kind}`}>
              {renderPieces(text, escapeForJson)}
            </bdi>
          ),
        )}
      </bdi>
      {isCut && <ShowMoreButton onMore={() => setBudget(budget * 4)} />}
    </ScrollBlock>
  );
});

/** A scrollable region that can be focused by keyboard. */
function ScrollBlock({ label, children }: { readonly label: string; readonly children: ReactNode }): ReactNode {
  return (
    <pre className="block" tabIndex={0} role="group" aria-label={label}>
      {children}
    </pre>
  );
}

function ShowMoreButton({ left, onMore }: { readonly left?: number; readonly onMore: () => void }): ReactNode {
  return (
    <button type="button" className="more" onClick={onMore}>
      {left === undefined ? "Show more" : `Show more of ${formatCount(left)} characters`}
    </button>
  );
}

function renderPieces(text: string, mark?: (character: string) => string): ReactNode {
  const parts = textPieces(text, mark);
  const [only] = parts;
  if (parts.length === 1 && only?.marked === false) return only.text;
  return parts.map(({ text, marked }, index) =>
    marked ? (
      <span key={index} className="hidden-character">
        {text}
      </span>
    ) : (
      <Fragment key={index}>{text}</Fragment>
    ),
  );
}
