import type { either } from 'fp-ts'
import type { AnyNodeDefinition, ModelName } from '../nodes/core/node.js'

/** What a project is checked against, beside its own text. */
export interface ProjectFacts {
  /** Every node there is. */
  readonly nodes: readonly AnyNodeDefinition[]
  /** Whether there is such a model; left out where nobody knows. */
  readonly hasModel?: (model: ModelName) => boolean
  /** A file beside the project's own; left, what is wrong with it, completing "resources.x.file …". */
  readonly readFile: (file: string) => either.Either<string, Uint8Array>
  readonly secret: (env: string) => string | undefined
  /** Whether the operator keeps recordings; left out where nobody knows. */
  readonly recordings?: boolean
  /** The version that the file's place says. */
  readonly versionOfFile?: string
  /** The name that the file's place says. */
  readonly nameOfFile?: string
  /**
   * Whether this is the service that is to run it. Elsewhere a secret that is not set, or a place in the wrong folder, is
   * a warning.
   */
  readonly isHere: boolean
}
