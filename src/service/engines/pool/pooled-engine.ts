import { DecoderPool, type DecoderPoolOptions } from './worker-pool.js'
import type { Engine, EngineCapabilities, ModelDescription } from '../engine.js'
import { laneEngine } from '../segment-engine.js'
import { invalidModel } from '../models/model-files.js'

/**
 * An engine whose segments are read by the decoders of worker threads. Resolves when the first worker has taken the
 * model; rejects as `warm` of the pool does, and leaves no worker behind then.
 */
export const openPooledEngine = async (
  model: ModelDescription,
  options: Omit<DecoderPoolOptions, 'now' | 'refuse'>,
  capabilities: Omit<EngineCapabilities, 'segmentsAtOnce'>,
): Promise<Engine> => {
  const pool = new DecoderPool({
    ...options,
    now: () => performance.now(),
    refuse: (sentence) => invalidModel(model, sentence),
  })
  try {
    await pool.warm()
  } catch (error) {
    await pool.close()
    throw error
  }
  return laneEngine({
    capabilities: { ...capabilities, segmentsAtOnce: pool.segmentsAtOnce },
    openLane: () => (startMs, listener) => pool.open(startMs, listener),
    ready: () => pool.warm(),
    busyMs: () => pool.busyMs,
    close: () => pool.close(),
  })
}
