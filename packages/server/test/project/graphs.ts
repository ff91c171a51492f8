import { either } from 'fp-ts'
import { Subject, VirtualTimeScheduler } from 'rxjs'
import type { SpeechError } from '../../../../src/errors/speech-error.js'
import type { AudioFormat } from '../../../../src/audio/format.js'
import { builtInNodes } from '../../../service/src/start/built-ins.js'
import { defineNode } from '../../src/nodes/core/define-node.js'
import { noOptions } from '../../src/nodes/core/node-options.js'
import type { AnyNodeDefinition, Node, NodeContext, NodeDefinition, NodeItem } from '../../src/nodes/core/node.js'
import { checkProject } from '../../src/project/check/check-project.js'
import type { GraphSession } from '../../src/project/runtime/graph-session.js'
import { openGraph, type OpenGraph } from '../../src/project/runtime/open-graph.js'
import type { ProjectFacts } from '../../src/project/check/project-facts.js'
import { faultLine } from '../../src/project/format/project-fault.js'
import type { ProjectGraph } from '../../src/project/format/project-graph.js'
import { loadYaml } from '../../src/project/format/read-yaml.js'
import { nodeContext } from '../nodes/node-context.js'
import { recordedLink } from '../sessions/recorded-link.js'

/** One byte per frame and eight frames per millisecond. */
const telephone: AudioFormat = { encoding: 'ulaw', sampleRateHz: 8000, channels: 1 }

export const facts = (nodes: readonly AnyNodeDefinition[], change: Partial<ProjectFacts> = {}): ProjectFacts => ({
  nodes: [...builtInNodes, ...nodes],
  readFile: () => either.left('names a file that is not there'),
  secret: () => undefined,
  isHere: true,
  ...change,
})

/** A node of a test, without options. */
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

/** The graph of a project; throws its faults. */
export const graphOf = async (text: string, nodes: readonly AnyNodeDefinition[]): Promise<ProjectGraph> => {
  const { graph, faults } = checkProject(text, await loadYaml(), facts(nodes))
  if (graph === undefined) throw new Error(faults.map((fault) => faultLine('p.yaml', text, fault)).join('\n'))
  return graph
}

/** An item as a short text: the name of an event, `a20` for 20 ms of audio. */
export const brief = (item: NodeItem): string =>
  item.type === 'audio' ? `a${String(item.bytes.length / 8)}` : item.event.name

/** Opens the graph of a project for a session in virtual time. */
export const opened = async (
  text: string,
  nodes: readonly AnyNodeDefinition[],
  change: Partial<GraphSession> = {},
): Promise<OpenGraph> =>
  openGraph(await graphOf(text, nodes), {
    format: telephone,
    context: nodeContext(),
    limits,
    source: recordedLink(),
    log: () => undefined,
    ...change,
  })

const limits: GraphSession['limits'] = { idleMs: 0, maxPendingAudioMs: 1000, finishWithinMs: 1000, maxCallMs: 100 }

/** Runs a graph in virtual time; `output` and `items` are its output. */
export const running = async (
  text: string,
  nodes: readonly AnyNodeDefinition[],
  change: Partial<GraphSession['limits']> = {},
) => {
  const clock = new VirtualTimeScheduler()
  const link = recordedLink()
  const client: { resumed: () => void } = { resumed: () => undefined }
  const faults: unknown[] = []
  const logged: string[] = []
  const counted: object[] = []
  const graph = await opened(text, nodes, {
    context: nodeContext({ scheduler: clock }),
    limits: { ...limits, ...change },
    source: {
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
  const output: string[] = []
  const items: NodeItem[] = []
  const [abort$, drain$] = [new Subject<SpeechError>(), new Subject<undefined>()]
  const subscription = graph(audio$, { abort$, drain$ }).subscribe({
    next: (item) => {
      items.push(item)
      output.push(brief(item))
    },
    complete: () => output.push('|'),
    error: (error: unknown) => output.push(`# ${error instanceof Error ? error.message : String(error)}`),
  })
  const give = (...lengthsMs: readonly number[]): void => {
    for (const ms of lengthsMs) audio$.next(new Uint8Array(ms * 8).fill(1))
  }
  const abort = (error: SpeechError): void => abort$.next(error)
  const drain = (): void => drain$.next(undefined)
  return { clock, link, client, faults, logged, counted, audio$, output, items, subscription, give, abort, drain }
}

export const event = (name: string): NodeItem => ({ type: 'event', event: { name } })

/** A project with one node between entry and publisher. */
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

/** A node that passes its input on. */
export const through: Node = (input$) => input$
