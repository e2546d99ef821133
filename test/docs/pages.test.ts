import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';
import { openNames } from './open-names.js';
import { blocksOf } from './page-blocks.js';
import { pages } from './pages.js';
import { sameOutput } from './same-output.js';
import { tryPage } from './try-page.js';

const page = (path: string) => readFileSync(join(packageRoot, path), 'utf8');

describe.each(pages)('page %s', (path) => {
  test('a page marks every command to run (```sh ci) or says why it does not run (```sh no: reason)', () => {
    const undecided = blocksOf(page(path)).filter(({ kind }) => kind === 'undecided');
    expect(undecided.map(({ commands }) => commands)).toEqual([]);
  });

  test('the links of a page and the tests that it names exist', () => {
    const text = page(path);
    const links = [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)/g)];
    const missing = links.filter(([, to = '', anchor]) => {
      const file = to === '' ? path : join(dirname(path), to);
      if (!existsSync(join(packageRoot, file))) return true;
      return anchor !== undefined && !anchorsOf(page(file)).includes(anchor);
    });
    expect(missing.map(([link]) => link)).toEqual([]);
    const tests = [...text.matchAll(/\btest\/[\w/.-]+\.ts\b/g)].map(([name]) => name);
    expect(tests.filter((name) => !existsSync(join(packageRoot, name)))).toEqual([]);
  });
});

/** Returns the anchors that GitHub generates for the headings of a page. */
const anchorsOf = (text: string): string[] =>
  [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

test('every command on a page that copies the mirror runs under umask 077', () => {
  const copies = pages.flatMap((path) =>
    [...page(path).matchAll(/^.*(?:\.backup |\bVACUUM INTO\b|\bpg_dump -|--identity\b.* > ).*$/gm)].map(
      ([line]) => line,
    ),
  );
  expect(copies.length).toBeGreaterThan(0);
  expect(copies.filter((line) => !line.includes('umask 077'))).toEqual([]);
});

test('a command on a page that waits for a sandbox ends when the sandbox ends, as with a port that is taken', async () => {
  const waits = new Set(pages.flatMap((path) => page(path).match(/^until \[ -s .*$/gm) ?? []));
  expect(waits.size).toBeGreaterThan(0);
  // A command without this would not end.
  expect([...waits].filter((line) => !line.includes('kill -0 $! || break'))).toEqual([]);
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-waits-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const text = [...waits].map((line) => `\`\`\`sh ci\ntrue &\nwait $!\n${line}\n\`\`\`\n`).join('\n');
  expect(await tryPage(text, { folder, seconds: 300, preamble: '' })).toMatchObject({
    run: waits.size,
    wrong: null,
  });
});

test('openNames finds a file with names of the mirror when other users can read it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-names-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const mirror = new Sqlite(join(folder, 'mirror.db'));
  mirror.exec("CREATE TABLE identities (name TEXT); INSERT INTO identities VALUES ('Ada Lovelace')");
  mirror.close();
  writeFileSync(join(folder, 'rows.csv'), 'id,name\ninv_1,Ada Lovelace\n', { mode: 0o644 });
  writeFileSync(join(folder, 'ids.csv'), 'id\ninv_1\n', { mode: 0o644 });
  chmodSync(join(folder, 'mirror.db'), 0o644);
  expect([...openNames(folder)].sort()).toEqual(['mirror.db', 'rows.csv']);
  for (const name of ['mirror.db', 'rows.csv']) chmodSync(join(folder, name), 0o600);
  expect(openNames(folder)).toEqual([]);

  const elsewhere = mkdtempSync(join(tmpdir(), 'rosterd-packages-'));
  onTestFinished(() => rmSync(elsewhere, { recursive: true }));
  writeFileSync(join(elsewhere, 'rows.csv'), 'id,name\ninv_1,Ada Lovelace\n', { mode: 0o644 });
  symlinkSync(elsewhere, join(folder, 'node_modules'));
  expect(openNames(folder), 'the packages are behind a link').toEqual([]);
});

test('most commands on the pages run, and README and the task pages have several that do', () => {
  const runs = (path: string) => blocksOf(page(path)).filter(({ kind }) => kind === 'run').length;
  for (const path of [
    'README.md',
    ...['operating', 'erasure-and-backups', 'connecting', 'querying', 'sandbox'].map(inDocs),
  ])
    expect(runs(path), path).toBeGreaterThan(1);
  const all = pages.flatMap((path) => blocksOf(page(path)));
  expect(all.filter(({ kind }) => kind === 'not run').length).toBeLessThan(all.length / 2);
});

const inDocs = (name: string) => `docs/${name}.md`;

test('npm start and npm ci run the scripts that the trial of a page replaces', () => {
  const { scripts } = JSON.parse(page('package.json')) as { scripts: Record<string, string> };
  expect(scripts).toMatchObject({ start: 'node .ci/start.mjs', dependencies: 'node .ci/installed.mjs' });
});

test('blocksOf classifies blocks by the info string of their fence', () => {
  const text = [
    ...['```sh ci', 'echo 1', '```', '', '```text', '1', '```'],
    ...['<!-- ci', 'quiet', '-->', '```sh ci until "ready now"', 'serve', '```'],
    ...['```sh no: needs a printer', 'lp', '```', '```text', 'not its output', '```'],
    ...['```sh', 'rm', '```', '```sh no:', 'x', '```', '```sql', 'SELECT', '```'],
  ].join('\n');
  expect(blocksOf(`${text}\n`)).toEqual([
    { kind: 'run', commands: 'echo 1\n', shown: { text: '1\n', anyNumbers: false } },
    { kind: 'run', commands: 'quiet\n', shown: null },
    { kind: 'background', commands: 'serve\n', until: 'ready now' },
    { kind: 'not run', commands: 'lp\n', reason: 'needs a printer' },
    { kind: 'undecided', commands: 'rm\n' },
    { kind: 'undecided', commands: 'x\n' },
  ]);
});

describe('the output of a command matches the page', () => {
  const same = (text: string, printed: string, anyNumbers = false) =>
    sameOutput({ text, anyNumbers }, printed);

  test('sameOutput ignores times, durations, ids and secrets', () => {
    const shown = 'acme  done, 3 s ago   inv_9xKq2mVb7sTt  2026-10-20T12:00:00.000Z  712 ms\n';
    expect(same(shown, 'acme  done, 14 s ago  inv_aaaaaaaaaaaaaaaa  2027-01-01T00:00:00.123Z  9 ms\n')).toBe(
      true,
    );
    expect(same(shown, shown.replace('done', 'failed'))).toBe(false);
    expect(same('rows 446\n', 'rows 447\n')).toBe(false);
    expect(same('rows 446\n', 'rows 447\n', true)).toBe(true);
  });

  test('sameOutput lets … match anything within a line, or any number of lines', () => {
    expect(same('a … c\n', 'a b c\n')).toBe(true);
    expect(same('a …\n', 'a b\nc\n')).toBe(false);
    expect(same('a\n…\n', 'a\n')).toBe(true);
    expect(same('a\n…\nd\n', 'a\nb\nc\nd\n')).toBe(true);
    expect(same('a\n…\nd\n', 'a\nb\nc\n')).toBe(false);
  });
});

describe('tryPage', () => {
  const tried = (text: string) => tryPage(text, { folder: packageRoot, seconds: 300, preamble: '' });

  test('tryPage runs a page in one shell and compares its outputs', async () => {
    const text =
      '```sh ci\nx=1\n```\n```sh ci\necho $x\n```\n```text\n1\n```\n```sh no: a good reason\n```\n';
    expect(await tried(text)).toEqual({ run: 2, compared: 1, notRun: 1, wrong: null });
    expect((await tried(text.replace('echo $x', 'echo 2'))).wrong).toMatch(
      /echo 2[\s\S]*shown:\n1[\s\S]*printed:\n2/,
    );
  });

  test('tryPage stops at the first command that fails and reports the command and its error', async () => {
    const { wrong } = await tried('```sh ci\nls /no/such/place\n```\n```sh ci\necho later\n```\n');
    expect(wrong).toMatch(/ended with 2:\nls \/no\/such\/place\n[\s\S]*No such file/);
  });
});
