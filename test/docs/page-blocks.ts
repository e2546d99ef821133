export interface Shown {
  readonly text: string;
  /** ```text like```: output of a running program, so its numbers differ each time. */
  readonly anyNumbers: boolean;
}

/** The shell commands of a page, in order, and how the page test treats them. */
export type Block =
  /** Runs; a ```text block right after it shows the expected output. */
  | { readonly kind: 'run'; readonly commands: string; readonly shown: Shown | null }
  /** Keeps running in the background; the page continues once its output contains this text. */
  | { readonly kind: 'background'; readonly commands: string; readonly until: string }
  /** Does not run here, for this reason. */
  | { readonly kind: 'not run'; readonly commands: string; readonly reason: string }
  /** Not marked either way. */
  | { readonly kind: 'undecided'; readonly commands: string };

/** Words after a fence that open a block of commands. */
const shell = /^(?:sh|bash|zsh|fish|shell|console)\b/;
const reasonLengthMin = 12;

/**
 * Blocks are marked after the fence: ```sh ci``` runs, ```sh ci until "text"``` runs in the background, ```sh no:
 * reason``` does not run. Setup that readers do not need is in a comment: `<!-- ci` … `-->`.
 */
export function blocksOf(page: string): readonly Block[] {
  const pieces = page.matchAll(/^```([^\n]*)\n(.*?)^```$\n?|^<!-- ci\n(.*?)^-->$\n?/gms);
  const blocks: Block[] = [];
  let end = -1;
  for (const { 0: whole, 1: word = '', 2: content = '', 3: hidden, index } of pieces) {
    const last = blocks.at(-1);
    const directlyBehind = end !== -1 && page.slice(end, index).trim() === '';
    if (hidden !== undefined) blocks.push({ kind: 'run', commands: hidden, shown: null });
    else if (shell.test(word)) blocks.push(blockOf(word, content));
    else if (/^text(?: like)?$/.test(word) && directlyBehind && last?.kind === 'run')
      blocks.splice(-1, 1, { ...last, shown: { text: content, anyNumbers: word !== 'text' } });
    end = shell.test(word) ? index + whole.length : -1;
  }
  return blocks;
}

function blockOf(word: string, commands: string): Block {
  const until = /^sh ci until "([^"]+)"$/.exec(word)?.[1];
  if (until !== undefined) return { kind: 'background', commands, until };
  if (word === 'sh ci') return { kind: 'run', commands, shown: null };
  const reason = /^sh no: (.+)$/.exec(word)?.[1];
  if (reason !== undefined && reason.length >= reasonLengthMin) return { kind: 'not run', commands, reason };
  return { kind: 'undecided', commands };
}
