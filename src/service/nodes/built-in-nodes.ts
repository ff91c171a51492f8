import { audioNodes } from './audio-nodes.js'
import { entry } from './entry.js'
import { eventNodes } from './event-nodes.js'
import type { AnyNodeDefinition } from './node.js'
import { publisher } from './publisher.js'

/** The nodes that every project may use. */
export const builtInNodes: readonly AnyNodeDefinition[] = [entry, publisher, ...audioNodes, ...eventNodes]
