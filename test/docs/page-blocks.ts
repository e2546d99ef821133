export interface Shown {
  readonly text: string;
  /** ```text like```: of something that lives, so its numbers are others each time. */
  readonly anyNumbers: boolean;
}

/** What a page types into a shell, in order, and what becomes of it when the page is tried. */
export type Block =
  /** Runs; its output has to be what a ```text block right behind it shows. */
  | { readonly kind: 'run'; readonly commands: string; readonly shown: Shown | null }
  /** Runs on in the background; the page goes on once its output has this text. */
  | { readonly kind: 'background'; readonly commands: string; readonly until: string }
  /** Does not run here, for this reason. */
  | { readonly kind: 'not run'; readonly commands: string; readonly reason: string }
  /** Says neither. */
  | { readonly kind: 'undecided'; readonly commands: string };

/** Words behind a fence that open a block of commands. */
const shell = /^(?:sh|bash|zsh|fish|shell|console)\b/;
const reasonLengthMin = 12;

/**
 * Blocks are marked behind the fence: ```sh ci``` runs, ```sh ci until "text"``` runs in the background, ```sh no:
 * reason``` does not. Setting up that no reader needs stands in a comment: `<!-- ci` … `-->`.
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
