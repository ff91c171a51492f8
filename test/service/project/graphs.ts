import { either } from 'fp-ts'
import { Subject, VirtualTimeScheduler } from 'rxjs'
import type { AudioFormat } from '../../../src/audio/format.js'
import { builtInNodes } from '../../../src/service/nodes/built-in-nodes.js'
import { defineNode } from '../../../src/service/nodes/core/define-node.js'
import { noOptions } from '../../../src/service/nodes/core/node-options.js'
import type {
  AnyNodeDefinition,
  Node,
  NodeContext,
  NodeDefinition,
  NodeItem,
} from '../../../src/service/nodes/core/node.js'
import { checkProject } from '../../../src/service/project/check-project.js'
import type { GraphSession } from '../../../src/service/project/graph-session.js'
import { openGraph } from '../../../src/service/project/open-graph.js'
import type { ProjectFacts } from '../../../src/service/project/project-facts.js'
import { faultLine } from '../../../src/service/project/project-fault.js'
import type { ProjectGraph } from '../../../src/service/project/project-graph.js'
import { loadYaml } from '../../../src/service/project/read-yaml.js'
import { nodeContext } from '../nodes/node-context.js'
import { recordedLink } from '../sessions/recorded-link.js'

/** One byte a frame and eight frames a millisecond. */
export const telephone: AudioFormat = { encoding: 'ulaw', sampleRateHz: 8000, channels: 1 }

export const facts = (nodes: readonly AnyNodeDefinition[], change: Partial<ProjectFacts> = {}): ProjectFacts => ({
  nodes: [...builtInNodes, ...nodes],
  readFile: () => either.left('names a file that is not there'),
  secret: () => undefined,
  isHere: true,
  ...change,
})

/** A node of a test: audio and events in, audio and events out, and no options. */
export const nodeOf = (
  name: string,
  open: (context: NodeContext) => Node | Promise<Node>,
  change: Partial<NodeDefinition<object>> = {},
) =>
  defineNode({
    name,
    summary: 'A node of a test.',
    inputs: { audio: 'audio' },
    outputs: { audio: 'audio', events: 'event' },
    optionalInputs: [],
    options: noOptions,
    open: async (_options, context) => open(context),
    ...change,
  })

/** Checks a project and throws the faults of one that has some. */
export const graphOf = async (text: string, nodes: readonly AnyNodeDefinition[]): Promise<ProjectGraph> => {
  const { graph, faults } = checkProject(text, await loadYaml(), facts(nodes))
  if (graph === undefined) throw new Error(faults.map((fault) => faultLine('p.yaml', text, fault)).join('\n'))
  return graph
}

/** An item in a few words: `Name`, `a20` for 20 ms of audio. */
export const brief = (item: NodeItem): string =>
  item.type === 'audio' ? `a${String(item.bytes.length / 8)}` : item.event.name

/** A graph at work in virtual time, and all that it said. */
export const running = async (
  text: string,
  nodes: readonly AnyNodeDefinition[],
  change: Partial<GraphSession['limits']> = {},
) => {
  const clock = new VirtualTimeScheduler()
  const link = recordedLink()
  const client: { resumed: () => void } = { resumed: () => undefined }
  const { node: _node, inputs: _inputs, outputs: _outputs, consumed: _consumed, ...shared } = nodeContext()
  const faults: unknown[] = []
  const logged: string[] = []
  const counted: object[] = []
  const graph = await graphOf(text, nodes)
  const open = await openGraph(graph, {
    format: telephone,
    context: { ...shared, scheduler: clock },
    limits: { idleMs: 0, maxPendingAudioMs: 1000, finishWithinMs: 1000, maxCallMs: 100, ...change },
    feeder: {
      pause: () => link.pause(),
      resume: () => {
        link.resume()
        client.resumed()
      },
    },
    log: (node, message) => logged.push(`${node}: ${message}`),
    monitor: {
      dropped: (loss) => counted.push(loss),
      nodeFailed: (failure) => counted.push(failure),
    },
    onFault: (error) => faults.push(error),
  })
  const audio$ = new Subject<Uint8Array>()
  const said: string[] = []
  const items: NodeItem[] = []
  const subscription = open.run(audio$).subscribe({
    next: (item) => {
      items.push(item)
      said.push(brief(item))
    },
    complete: () => said.push('|'),
    error: (error: unknown) => said.push(`# ${error instanceof Error ? error.message : String(error)}`),
  })
  const give = (...lengthsMs: readonly number[]): void => {
    for (const ms of lengthsMs) audio$.next(new Uint8Array(ms * 8).fill(1))
  }
  return { clock, link, client, faults, logged, counted, audio$, said, items, subscription, give, open }
}

export const event = (name: string): NodeItem => ({ type: 'event', event: { name } })

/** A node between entry and publisher, audio and events of which go to the client. */
export const around = (name: string, more = '', wire = ''): string => `
version: 1
nodes:
  in: entry
  x: { node: ${name}${more} }
  out: publisher
wires:
  - { from: in, to: x.audio${wire} }
  - x.audio -> out.audio
  - x.events -> out.events
`

/** A node that changes nothing. */
export const through: Node = (input$) => input$
