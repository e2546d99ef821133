/*
 * A process of its own that does what slowness must not change, and prints the results as JSON. Its argument is an empty
 * folder.
 */
import { fork } from 'node:child_process';
import { open as openWithCallback, read } from 'node:fs';
import { mkdir, open, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect, createServer as createNetServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const [folder = '', role = 'parent'] = process.argv.slice(2);

if (role === 'child') {
  for (let number = 1; number <= 20; number += 1) {
    process.stdout.write(`${number} `);
    process.send?.(number);
  }
  process.disconnect();
} else {
  const file = join(folder, 'file');
  await mkdir(join(folder, 'inner', 'folder'), { recursive: true });
  await writeFile(file, 'contents');
  const handle = await open(file, 'a+');
  await handle.write(' and more');
  await handle.sync();
  await handle.close();
  const missing = await stat(join(folder, 'missing')).catch((error: NodeJS.ErrnoException) => error.code);
  const descriptor = await promisify(openWithCallback)(file, 'r');
  const { bytesRead } = await promisify(read)(descriptor, Buffer.alloc(8), 0, 8, 0);

  // 2 MB back and forth through the parser of HTTP, with the pauses of a full pipe.
  const echo = createServer((request, response) => request.pipe(response)).listen(0, '127.0.0.1');
  await new Promise((resolve) => echo.once('listening', resolve));
  const { port } = echo.address() as { port: number };
  const body = Array.from({ length: 300_000 }, (_, index) => String(index)).join('\n');
  const echoes = await Promise.all(
    [1, 2, 3].map(async () => (await fetch(`http://localhost:${port}/`, { method: 'POST', body })).text()),
  );
  echo.close();
  echo.closeAllConnections();

  const lines = createNetServer((socket) => {
    for (let number = 1; number <= 50; number += 1) socket.write(`${number}\n`);
    socket.end();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => lines.once('listening', resolve));
  let received = '';
  for await (const chunk of connect((lines.address() as { port: number }).port, '127.0.0.1'))
    received += String(chunk);
  lines.close();
  const refused = await new Promise((resolve) =>
    connect(port, '127.0.0.1').once('error', (error: NodeJS.ErrnoException) => resolve(error.code)),
  );

  const child = fork(fileURLToPath(import.meta.url), [folder, 'child'], { silent: true });
  const messages: unknown[] = [];
  child.on('message', (message) => messages.push(message));
  let printed = '';
  child.stdout?.on('data', (chunk) => {
    printed += String(chunk);
  });
  const exit = await new Promise((resolve) =>
    child.once('exit', (code) => resolve([code, printed, ...messages])),
  );

  const results = {
    text: await readFile(file, 'utf8'),
    names: (await readdir(folder)).sort(),
    ...{ missing, bytesRead, refused, exit },
    echoed: echoes.every((text) => text === body),
    received,
  };
  process.stdout.write(JSON.stringify(results));
}
