/** Light or dark: as the system says, until the reader says otherwise. */
import { useEffect, useState, type ReactNode } from "react";
import { Icon } from "../show/parts.tsx";

const NAME = "haft-theme";

export function ThemeButton(): ReactNode {
  const [theme, setTheme] = useState(() => localStorage.getItem(NAME) ?? "");
  useEffect(() => {
    if (theme === "") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
  }, [theme]);
  const isDark = theme === "" ? matchMedia("(prefers-color-scheme: dark)").matches : theme === "dark";
  const other = isDark ? "light" : "dark";
  return (
    <button
      type="button"
      className="button button-icon"
      title={`Use ${other} colours`}
      aria-label={`Use ${other} colours`}
      onClick={() => {
        localStorage.setItem(NAME, other);
        setTheme(other);
      }}
    >
      <Icon name={isDark ? "sun" : "moon"} />
    </button>
  );
}
