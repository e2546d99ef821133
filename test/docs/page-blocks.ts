export interface Shown {
  readonly text: string;
  /** ```text like```: the output changes with each run, so any numbers match. */
  readonly anyNumbers: boolean;
}

/** A block of shell commands on a page, and what the trial of the page does with it. */
export type Block =
  /** Runs. If a ```text block follows directly, the output must match it. */
  | { readonly kind: 'run'; readonly commands: string; readonly shown: Shown | null }
  /** Runs in the background. The page continues when its output contains this text. */
  | { readonly kind: 'background'; readonly commands: string; readonly until: string }
  /** Does not run, for this reason. */
  | { readonly kind: 'not run'; readonly commands: string; readonly reason: string }
  /** Not marked: an error. */
  | { readonly kind: 'undecided'; readonly commands: string };

/** Info strings of fences that contain shell commands. */
const shell = /^(?:sh|bash|zsh|fish|shell|console)\b/;
const reasonLengthMin = 12;

/**
 * Returns the blocks of shell commands on a page, in order. The info string of the fence marks them: ```sh ci``` runs,
 * ```sh ci until "text"``` runs in the background, ```sh no: reason``` does not run. Setup that readers do not need is in a
 * comment: `<!-- ci` … `-->`.
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
