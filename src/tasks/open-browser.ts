import { spawn } from 'node:child_process';

/** The program that opens a URL on each system. None is a shell, so a URL is never run as a command. */
const openers: Readonly<Record<string, readonly [program: string, ...args: string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Opens a URL in the browser. Errors are ignored, because the link is printed as well. */
export function openBrowser(address: string, platform: string = process.platform): void {
  const [program, ...args] = openers[platform] ?? ['xdg-open'];
  const child = spawn(program, [...args, address], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}
