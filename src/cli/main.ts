#!/usr/bin/env node
import { begin } from './begin.js';

begin(() => import('./command-line.js').then(({ runCommandLine }) => runCommandLine((args) => args)));
