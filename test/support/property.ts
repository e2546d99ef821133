import fc from 'fast-check';
import { testSeed } from './chance.js';

// By default fast-check uses a random seed, and a run could not be repeated.
fc.configureGlobal({ seed: testSeed });

export default fc;
