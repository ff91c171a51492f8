import type { EngineKind } from './engine.js'
import { pocketsphinx } from './pocketsphinx/pocketsphinx.js'
import { remote } from './remote/remote.js'
import { soundswallower } from './soundswallower/soundswallower.js'

/** The engines that models may name without anything further. Each loads its package when a model of it is opened. */
export const builtInEngines = (): readonly EngineKind[] => [soundswallower(), pocketsphinx(), remote()]
