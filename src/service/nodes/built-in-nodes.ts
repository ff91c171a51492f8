import { audioNodes } from './audio-nodes.js'
import { entry } from './core/entry.js'
import { eventNodes } from './event-nodes.js'
import type { AnyNodeDefinition } from './core/node.js'
import { publisher } from './core/publisher.js'

/** The nodes that every project may use. */
export const builtInNodes: readonly AnyNodeDefinition[] = [entry, publisher, ...audioNodes, ...eventNodes]
