import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { expect, onTestFinished } from 'vitest';
import { systemClock } from '../../src/runtime/clock.js';
import { packageRoot } from '../../src/runtime/package-root.js';
import { type DatabaseLocation, secretUrlOf } from '../../src/store/database-location.js';
import { fakeIo, rosterd } from '../cli/fake-io.js';
import { type AtEnd, tempFolder } from '../store/temp-folder.js';

export const program = join(packageRoot, 'dist/cli/main.js');

/** A conversation with `rosterd mcp` through a client of the official SDK. */
export interface Conversation {
  /** Calls a tool and returns its text. */
  call(tool: string, args?: Record<string, unknown>, signal?: AbortSignal): Promise<Told>;
  /** Returns the text of a resource. */
  read(uri: string): Promise<string>;
  toolNames(): Promise<readonly string[]>;
  resourceUris(): Promise<readonly string[]>;
  /** Everything that the server has written to stderr so far. */
  log(): string;
}

export interface Told {
  readonly text: string;
  readonly failed: boolean;
}

const told = (result: object): Told => {
  const { isError, content = [] } = result as {
    readonly isError?: boolean;
    readonly content?: readonly { readonly text: string }[];
  };
  return { text: content[0]?.text ?? '', failed: isError === true };
};

/** The present client of the SDK, and the one of assistants that were not updated since. */
type Generation = 'present' | 'earlier';

/** What a process of the program gets from its environment. Code that was compiled once is not compiled again. */
export const programEnv: Readonly<Record<string, string>> = {
  PATH: process.env.PATH ?? '',
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '',
};

interface Wish {
  readonly flags?: readonly string[];
  /** Registers the end of the conversation; by default at the end of the test. */
  readonly atEnd?: AtEnd;
}

const about = { name: 'test', version: '1.0.0' };

/** Talks to the command as it runs in the process of the test, through its streams. */
export async function talkTo(
  location: DatabaseLocation,
  { flags = [], atEnd = onTestFinished }: Wish = {},
): Promise<Conversation> {
  const [stdin, answers] = [new PassThrough(), new PassThrough()];
  const io = fakeIo({
    ...{ stdin, cwd: tempFolder(atEnd), clock: systemClock },
    stdout: Object.assign(answers, { isTTY: false, columns: 80 }),
  });
  const command = rosterd(['mcp', '--database', await addressOf(location), ...flags], io);
  const client = new Client(about);
  atEnd(async () => {
    await client.close();
    stdin.end();
    expect((await command).code).toBe(0);
  });
  // This transport reads messages from one stream and writes them to another: a client can use it as well.
  await client.connect(new StdioServerTransport(answers, stdin));
  return conversation(client, io.err);
}

/** Starts the command in a process of its own, as an assistant does. */
export async function talkToProcess(
  location: DatabaseLocation,
  generation: Generation,
): Promise<Conversation> {
  const started = {
    command: process.execPath,
    args: [program, 'mcp', '--database', await addressOf(location)],
    env: programEnv,
    cwd: tempFolder(),
    stderr: 'pipe' as const,
  };
  if (generation === 'earlier') {
    const transport = new EarlierTransport(started);
    const client = new EarlierClient(about);
    const log = kept(transport.stderr);
    await client.connect(transport);
    onTestFinished(() => client.close());
    return {
      call: async (name, args = {}, signal) =>
        told(await client.callTool({ name, arguments: args }, undefined, signal && { signal })),
      read: async (uri) => textOf((await client.readResource({ uri })).contents),
      toolNames: async () => (await client.listTools()).tools.map(({ name }) => name),
      resourceUris: async () => (await client.listResources()).resources.map(({ uri }) => uri),
      log,
    };
  }
  const transport = new StdioClientTransport(started);
  const client = new Client(about);
  const log = kept(transport.stderr);
  await client.connect(transport);
  onTestFinished(() => client.close());
  return conversation(client, log);
}

const addressOf = async (location: DatabaseLocation): Promise<string> =>
  location.kind === 'sqlite' ? location.file : await secretUrlOf(location);

const conversation = (client: Client, log: () => string): Conversation => ({
  call: async (name, args = {}, signal) =>
    told(await client.callTool({ name, arguments: args }, signal && { signal })),
  read: async (uri) => textOf((await client.readResource({ uri })).contents),
  toolNames: async () => (await client.listTools()).tools.map(({ name }) => name),
  resourceUris: async () => (await client.listResources()).resources.map(({ uri }) => uri),
  log,
});

const textOf = (contents: readonly object[]): string =>
  contents.map((one) => ('text' in one ? String(one.text) : '')).join('');

function kept(
  stream: { on(event: 'data', listener: (chunk: unknown) => void): unknown } | null,
): () => string {
  let text = '';
  stream?.on('data', (chunk) => {
    text += String(chunk);
  });
  return () => text;
}
