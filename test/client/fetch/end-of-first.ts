import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Resolves with the error code with which the server's first connection ended, or null after a proper end. */
export const endOfFirst = (server: Server, scheme: 'http' | 'https'): Promise<string | null> =>
  new Promise((resolve) => {
    server.once(scheme === 'http' ? 'connection' : 'secureConnection', (socket: Socket) => {
      let code: string | null = null;
      socket.on('error', (error: NodeJS.ErrnoException) => {
        code = error.code ?? 'no code';
      });
      socket.on('close', () => resolve(code));
    });
  });
