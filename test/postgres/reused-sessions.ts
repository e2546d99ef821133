import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A session that the server keeps, and what it sent when it began: a later client gets the same. */
interface Session {
  readonly far: Socket;
  readonly startup: string;
  readonly welcome: Buffer;
}

/** What the server sends first when it has accepted a password. */
const accepted = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]);
/** Sent, with the state of the transaction, when a statement is complete and the server waits for the next one. */
const ready = Buffer.from([0x5a, 0, 0, 0, 5]);
const isReady = (answer: Buffer): boolean => answer.subarray(-1 - ready.length, -1).equals(ready);
const farewell = Buffer.from([0x58, 0, 0, 0, 4]);
const [errorCode] = Buffer.from('E');

/**
 * Returns an address that leads to the same database over few sessions of the server: a client gets one that an earlier
 * client with the same parameters has left, after ROLLBACK and DISCARD ALL. Nothing of the earlier client is visible but the
 * caches of the server, which cost a new session several times the CPU time of a short statement. A session that is left
 * amid a statement ends.
 */
export async function reusedSessions(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const idle: Session[] = [];
  const server = createServer((near) => {
    // The driver sends it in one piece.
    near.once('data', (startup) => {
      const at = idle.findIndex((session) => session.startup === startup.toString('latin1'));
      const [session] = at === -1 ? [] : idle.splice(at, 1);
      if (session === undefined) return begin(near, startup);
      near.write(session.welcome);
      join(near, session.far, () => session);
    });
    near.on('error', () => {});
  });

  function begin(near: Socket, startup: Buffer): void {
    const far = connect(Number(port || 5432), hostname);
    far.on('error', () => {});
    far.on('close', () => {
      const at = idle.findIndex((session) => session.far === far);
      if (at !== -1) idle.splice(at, 1);
    });
    far.write(startup);
    let session: Session | undefined;
    let greeting = Buffer.alloc(0);
    const onGreeting = (chunk: Buffer) => {
      greeting = Buffer.concat([greeting, chunk]);
      const from = greeting.indexOf(accepted);
      if (from === -1 || !isReady(greeting)) return;
      session = { far, startup: startup.toString('latin1'), welcome: greeting.subarray(from) };
      far.off('data', onGreeting);
    };
    far.on('data', onGreeting);
    join(near, far, () => session);
  }

  function join(near: Socket, far: Socket, sessionOf: () => Session | undefined): void {
    let tail: Buffer = sessionOf()?.welcome ?? Buffer.alloc(0);
    const onFar = (chunk: Buffer) => {
      tail = Buffer.concat([tail, chunk]).subarray(-1 - ready.length);
      near.write(chunk);
    };
    const onEnd = () => near.destroy();
    far.ref().on('data', onFar).on('close', onEnd);
    near.on('data', (chunk) => {
      if (chunk.equals(farewell)) return void near.end();
      tail = Buffer.alloc(0);
      far.write(chunk);
    });
    near.on('close', () => {
      far.off('data', onFar).off('close', onEnd);
      const session = sessionOf();
      if (session !== undefined && isReady(tail)) clear(session);
      else far.destroy();
    });
  }

  /** Makes a session that a client has left ready for another one. */
  function clear(session: Session): void {
    const { far } = session;
    const statements = ['ROLLBACK', 'DISCARD ALL'];
    let answer = Buffer.alloc(0);
    const next = () => {
      answer = Buffer.alloc(0);
      const sql = statements.shift();
      if (sql !== undefined) return void far.write(queryOf(sql));
      idle.push(session);
      far.off('data', onAnswer).unref();
    };
    const onAnswer = (chunk: Buffer) => {
      answer = Buffer.concat([answer, chunk]);
      if (answer[0] === errorCode) far.destroy();
      else if (isReady(answer)) next();
    };
    far.on('data', onAnswer);
    next();
  }

  // It lets the process end, and so do the sessions; the end of the run drops the database with them.
  server.listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String((server.address() as AddressInfo).port);
  return through.href;
}

function queryOf(sql: string): Buffer {
  const text = Buffer.from(`${sql}\0`);
  const head = Buffer.alloc(5);
  head.write('Q');
  head.writeInt32BE(text.length + 4, 1);
  return Buffer.concat([head, text]);
}
