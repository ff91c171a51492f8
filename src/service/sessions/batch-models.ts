import type { ModelRegistry } from '../engine/model-registry.js'

export interface BatchModels {
  /** The registry, which remembers what was opened of it. */
  readonly models: ModelRegistry
  /** Whether some model was opened, and every one allows audio that is faster than real time. */
  readonly allowBatch: () => boolean
}

/** Watches which models a session opens: `"batch": true` in the `model.json` of all of them lifts its limit of pace. */
export const batchModels = (models: ModelRegistry): BatchModels => {
  let opened = 0
  let batch = 0
  return {
    models: {
      ...models,
      engine: async (model) => {
        const engine = await models.engine(model)
        opened += 1
        if (model.options['batch'] === true) batch += 1
        return engine
      },
    },
    allowBatch: () => opened > 0 && opened === batch,
  }
}
