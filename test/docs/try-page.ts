import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { type Block, blocksOf } from './page-blocks.js';
import { sameOutput } from './same-output.js';

export interface Tried {
  readonly run: number;
  readonly compared: number;
  readonly notRun: number;
  /** The first mismatch; null if the page is correct. */
  readonly wrong: string | null;
}

export interface TryOptions {
  /** The folder in which the page's commands run; it looks like a clone. */
  readonly folder: string;
  readonly seconds: number;
  /** Runs before the page in its shell: replaces commands that would take too long here. */
  readonly preamble: string;
}

/** Types a page into one shell, block after block, and compares the output with what the page shows. */
export async function tryPage(page: string, options: TryOptions): Promise<Tried> {
  const all = blocksOf(page);
  const blocks = all.filter((block) => block.kind === 'run' || block.kind === 'background');
  const mark = randomUUID();
  const typed = blocks.map((block, at) => `${lines(block, at)}\nprintf '%s\\n' '${mark}'\n`).join('');
  const { code, out, err } = await inShell(`${options.preamble}\n${typed}`, options);
  const printed = out.split(`${mark}\n`);
  const counts = {
    run: blocks.length,
    compared: blocks.filter((block) => block.kind === 'run' && block.shown !== null).length,
    notRun: all.length - blocks.length,
  };
  const stopped = blocks[printed.length - 1];
  if (code !== 0)
    return { ...counts, wrong: `ended with ${code}:\n${stopped?.commands ?? ''}\n${printed.at(-1)}${err}` };
  for (const [at, block] of blocks.entries()) {
    const got = printed[at] ?? '';
    if (block.kind !== 'run' || block.shown === null || sameOutput(block.shown, got)) continue;
    return { ...counts, wrong: `${block.commands}\nshown:\n${block.shown.text}\nprinted:\n${got}` };
  }
  return { ...counts, wrong: null };
}

/** In the background, the program replaces its shell, so that a signal reaches it. */
function lines(block: Block, at: number): string {
  if (block.kind !== 'background') return block.commands;
  const log = `.background-${at}.log`;
  return `: > ${log}
( in_background=yes; ${block.commands.trim()}
) > ${log} 2>&1 &
running=$!
until grep -qF -- ${quoted(block.until)} ${log}; do
  kill -0 "$running" || { cat ${log} >&2; exit 1; }
  sleep 0.1
done`;
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function inShell(script: string, { folder, seconds }: TryOptions) {
  // A separate process group, so that processes a block leaves running end here too.
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { pid } = shell;
  const endAll = () => {
    try {
      if (pid !== undefined) process.kill(-pid, 'SIGKILL');
    } catch {
      // No process was left.
    }
  };
  const tooLong = setTimeout(endAll, seconds * 1_000);
  let out = '';
  let err = '';
  shell.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  shell.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  return new Promise<{ code: number | string; out: string; err: string }>((resolve, reject) => {
    shell.on('error', reject);
    // A process that is still running keeps the pipes open, so it is ended before the rest of the output is read.
    shell.on('exit', endAll);
    shell.on('close', (code, signal) => {
      clearTimeout(tooLong);
      resolve({ code: code ?? `${signal} (${seconds} s are the most a page may take)`, out, err });
    });
  });
}
