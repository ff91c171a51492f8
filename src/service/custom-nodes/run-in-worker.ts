import { either } from 'fp-ts'
import { Observable } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import type { AnyNodeDefinition, ConfiguredNode, Node, NodeContext, Resource } from '../nodes/core/node.js'
import type { ResolvedCustomNodeOptions } from './custom-node-source.js'
import type { StartNodeWorker } from './node-worker.js'
import type { SentContext, SentResource } from './worker-messages.js'
import { WorkerSession } from './worker-session.js'

/**
 * The same node, which runs in its own thread in each session. Options, ports and formats are checked here; the factory
 * and the node run in the thread, without access to engines.
 */
export const runInWorker = (
  definition: AnyNodeDefinition,
  start: StartNodeWorker,
  nodeOptions: ResolvedCustomNodeOptions,
): AnyNodeDefinition => ({
  ...definition,
  // Items are acknowledged when the thread has processed them.
  manualAck: true,
  configure: (options) =>
    either.map((configured: ConfiguredNode): ConfiguredNode => ({
      ...configured,
      open: async (context) => {
        const session = new WorkerSession(definition, context, start, nodeOptions)
        await session.open({
          type: 'open',
          name: definition.name,
          options,
          context: sentContext(context, configured),
        })
        return nodeOf(session)
      },
    }))(definition.configure(options)),
})

const nodeOf =
  (session: WorkerSession): Node =>
  (input$) =>
    new Observable((subscriber) => {
      subscriber.add(() => session.close())
      session.start(subscriber)
      subscriber.add(
        input$.subscribe({
          next: (item) => session.give(item),
          error: (error: unknown) => subscriber.error(error),
          complete: () => session.finish(),
        }),
      )
    })

const sentContext = (context: NodeContext, { uses }: ConfiguredNode): SentContext => {
  const { node, session, inputs, outputs, language, audioOutput, recordingsFolder, idleMs } = context
  return {
    ...{ node, session, inputs, outputs, language, audioOutput, recordingsFolder, idleMs },
    settings: context.settings(),
    callProperties: context.callProperties(),
    resources: Object.fromEntries(
      uses.map(({ resource }): [string, SentResource] => [
        resource,
        sentResource(context.resource(resource), resource),
      ]),
    ),
  }
}

const sentResource = (resource: Resource | undefined, name: string): SentResource => {
  if (resource === undefined) throw new SpeechError('invalid-options', `The project has no resource ${name}.`)
  return resource.kind === 'secret' ? { kind: 'secret', secret: resource.reveal() } : resource
}
