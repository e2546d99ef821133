import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, onTestFinished, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';
import { freshMirror, seedInvestment, seedSource } from '../store/support/mirror.js';
import { tempFolder } from '../store/temp-folder.js';

/*
 * Starts the server as docs/assistants.md says, with the environment and in a folder as an assistant's. Only the paths
 * of the page are replaced by those of this test.
 */

interface Started {
  readonly command: string;
  readonly args: readonly string[];
}

const page = readFileSync(join(packageRoot, 'docs/assistants.md'), 'utf8');
const blocks = (language: string): readonly string[] =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(([, text = '']) => text);
const listOf = (text: string): readonly string[] => JSON.parse(text) as string[];

const inJson = blocks('json').map((text): Started => {
  const { mcpServers, servers } = JSON.parse(text) as Record<
    'mcpServers' | 'servers',
    { rosterd: Started } | undefined
  >;
  const found = mcpServers?.rosterd ?? servers?.rosterd;
  if (found === undefined) throw new Error('a block of JSON names no server');
  return found;
});
const inToml = blocks('toml').map((text): Started => {
  const [, command = ''] = /^command = "([^"]+)"$/m.exec(text) ?? [];
  return { command, args: listOf(/^args = (\[.*\])$/m.exec(text)?.[1] ?? '[]') };
});
const inShell = [...page.matchAll(/`claude mcp add rosterd -- ([^`]+)`/g)].map(([, line = '']): Started => {
  const [command = '', ...args] = line.split(' ');
  return { command, args };
});
const withoutConfig = [...page.matchAll(/`"args": (\["mcp", "--database"[^`]*\])`/g)].map(
  ([, args = '']): Started => ({ command: 'rosterd', args: listOf(args) }),
);
const byPath = [...page.matchAll(/`"command": "node"`, `"args": (\[[^`]*), …\]`/g)].map(
  ([, args = '']): Started => ({
    command: 'node',
    args: [...listOf(`${args}]`), '--config', '/etc/rosterd/config.json'],
  }),
);
const overSsh = [...page.matchAll(/`"command": "ssh"`,\s+`"args": (\[[^`]*\])`/g)].map(
  ([, args = '']): Started => ({ command: 'ssh', args: listOf(args) }),
);
/** Several applications start the server with the same words. */
const all = new Map(
  [...inJson, ...inToml, ...inShell, ...withoutConfig, ...byPath, ...overSsh].map((started) => [
    [started.command, ...started.args].join(' '),
    started,
  ]),
);

test('docs/assistants.md has each form of the command', () => {
  const counts = [inJson, inToml, inShell, withoutConfig, byPath, overSsh].map(({ length }) => length);
  expect(counts).toEqual([2, 1, 1, 1, 1, 1]);
});

test.each([...all])(
  'docs/assistants.md: %s is started by the client of the SDK and answers',
  async (_, { command, args }) => {
    const mirror = freshMirror();
    seedSource(mirror, 1, { name: 'acme', rows_held: 1 });
    seedInvestment(mirror, 1, 'inv_1');
    const folder = tempFolder();
    const config = join(folder, 'config.json');
    const source = { name: 'acme', token: { env: 'NOT_SET' } };
    const platform = { baseUrl: 'https://api.example.com' };
    writeFileSync(config, JSON.stringify({ platform, database: `sqlite:${mirror.file}`, sources: [source] }));
    const programs = join(folder, 'bin');
    mkdirSync(programs);
    symlinkSync(join(packageRoot, 'bin/rosterd.js'), join(programs, 'rosterd'));
    // The other machine: the shell of ssh gets the words after the host.
    writeFileSync(join(programs, 'ssh'), '#!/bin/sh\nshift\nexec "$@"\n');
    chmodSync(join(programs, 'ssh'), 0o755);
    const replaced = args.map((word) =>
      word
        .replace('/etc/rosterd/config.json', config)
        .replace('/var/lib/rosterd/mirror.db', mirror.file)
        .replace('/opt/rosterd/', `${packageRoot}/`),
    );
    const elsewhere = tempFolder();
    const transport = new StdioClientTransport({
      ...{ command, args: replaced, cwd: elsewhere, stderr: 'pipe' },
      env: { ...getDefaultEnvironment(), PATH: `${programs}:${dirname(process.execPath)}:/usr/bin:/bin` },
    });
    const client = new Client({ name: 'test', version: '1.0.0' });
    await client.connect(transport);
    onTestFinished(() => client.close());
    const answer = await client.callTool({ name: 'query', arguments: { sql: 'SELECT id FROM investments' } });
    expect(JSON.stringify(answer.content)).toContain('inv_1');
  },
);
