import type { EngineKind } from './engine/engine.js'
import { pocketsphinx } from './engine/pocketsphinx/pocketsphinx.js'
import { remote } from './engine/remote/remote.js'
import { sherpaOnnx } from './engine/sherpa-onnx/sherpa-onnx.js'
import { soundswallower } from './engine/soundswallower/soundswallower.js'

/** The engines that models may name without anything further. Each loads its package when a model of it is opened. */
export const builtInEngines = (): readonly EngineKind[] => [soundswallower(), pocketsphinx(), remote(), sherpaOnnx()]
