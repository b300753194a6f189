/** Small components that all screens share: headings, badges, notices, icons, a copy button. */
import { useState, type ReactNode } from "react";
import { formatAgo, formatFullTime } from "./format.ts";

const ICONS = {
  sessions: "M4 6h16M4 12h10M4 18h13",
  approvals: "M5 13l4 4L19 7",
  tools: "M14.5 6.5a3.5 3.5 0 0 0-4.6 4.3L4 16.7 7.3 20l5.9-5.9a3.5 3.5 0 0 0 4.3-4.6l-2.4 2.4-2.4-.6-.6-2.4z",
  jobs: "M12 7v5l3 2M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18",
  agents: "M6 9a2 2 0 0 1 2-2h8a2 2 0 0 1 2 2v7a2 2 0 0 1-2 2H8a2 2 0 0 1-2-2zM12 7V4M9.5 12v1M14.5 12v1M3 12v3M21 12v3",
  schedules: "M5 6h14v14H5zM5 10h14M9 3v4M15 3v4M12 13v3h2",
  processes: "M4 5h16v5H4zM4 14h16v5H4zM7 7.5h.01M7 16.5h.01",
  audit: "M6 3h12v18H6zM9 8h6M9 12h6M9 16h3",
  health: "M3 12h4l2-6 4 12 2-6h6",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  search: "M10.5 4a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13M15.5 15.5 20 20",
  close: "M6 6l12 12M18 6 6 18",
  copy: "M9 9h10v10H9zM5 15V5h10",
  back: "M15 5l-7 7 7 7",
  chevron: "M9 6l6 6-6 6",
  lock: "M7 11V8a5 5 0 0 1 10 0v3M5 11h14v9H5z",
  sun: "M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M5 19l1.4-1.4M17.6 6.4 19 5",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z",
  key: "M14.5 4a5.5 5.5 0 1 1-4.7 8.4L3 19v2h3v-2h2v-2h2l1.2-1.3M16 8h.01",
} as const;

export type IconName = keyof typeof ICONS;

export function Icon({ name }: { readonly name: IconName }): ReactNode {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={ICONS[name]} />
    </svg>
  );
}

export function ScreenHeader({ title, children }: { readonly title: ReactNode; readonly children?: ReactNode }): ReactNode {
  return (
    <header className="screen-head">
      <h1>{title}</h1>
      {children}
    </header>
  );
}

export type Tone = "plain" | "good" | "bad" | "warn" | "busy";

export function Badge({ tone = "plain", children }: { readonly tone?: Tone; readonly children: ReactNode }): ReactNode {
  return <span className={`badge badge-${tone}`}>{children}</span>;
}

/** A notice in place of missing content: nothing yet, gone, or failed. */
export function Notice({
  title,
  children,
  isFailure = false,
}: {
  readonly title: string;
  readonly children?: ReactNode;
  readonly isFailure?: boolean;
}): ReactNode {
  return (
    <div className={isFailure ? "notice notice-failure" : "notice"} role={isFailure ? "alert" : undefined}>
      <p className="notice-title">{title}</p>
      {children !== undefined && <div className="notice-text">{children}</div>}
    </div>
  );
}

export function Loading(): ReactNode {
  return (
    <div className="loading" role="status">
      Loading…
    </div>
  );
}

export function TimeAgo({ at, now }: { readonly at: number; readonly now: number }): ReactNode {
  return (
    <time dateTime={new Date(at).toISOString()} title={formatFullTime(at)}>
      {formatAgo(at, now)}
    </time>
  );
}

export function SearchField({
  label,
  value,
  onChange,
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}): ReactNode {
  return (
    <label className="search-field">
      <Icon name="search" />
      <span className="visually-hidden">{label}</span>
      <input
        type="search"
        placeholder={label}
        value={value}
        spellCheck={false}
        autoComplete="off"
        data-search=""
        onChange={({ target }) => onChange(target.value)}
      />
    </label>
  );
}

export function CopyButton({ label, text }: { readonly label: string; readonly text: () => string }): ReactNode {
  const [state, setState] = useState<"idle" | "copied" | "failed">("idle");
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text());
      setState("copied");
    } catch {
      setState("failed"); // the browser did not allow it
    }
    setTimeout(() => setState("idle"), 1_800);
  };
  const words = { idle: label, copied: "Copied", failed: "The browser did not allow it" }[state];
  return (
    <button type="button" className="button button-quiet" onClick={() => void copy()}>
      <Icon name="copy" />
      <span aria-live="polite">{words}</span>
    </button>
  );
}

/** A term and its value. */
export function Fact({ name, children }: { readonly name: ReactNode; readonly children: ReactNode }): ReactNode {
  return (
    <div className="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

export function Section({
  title,
  aside,
  children,
}: {
  readonly title: string;
  readonly aside?: ReactNode;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <section className="section">
      <div className="section-head">
        <h3>{title}</h3>
        {aside}
      </div>
      {children}
    </section>
  );
}
