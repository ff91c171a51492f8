import type { Server, ServerDuplexStream, UntypedServiceImplementation } from '@grpc/grpc-js'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** The services that grpc.health.v1 reports: the whole server, and `dataflow`. */
const healthServices = ['', 'dataflow'] as const

export interface GrpcHealth {
  readonly addTo: (server: Server) => void
  readonly setServing: (isServing: boolean) => void
}

/** Opens `grpc.health.v1.Health`, initially NOT_SERVING. Rejects with `missing-dependency`. */
export const openGrpcHealth = async (): Promise<GrpcHealth> => {
  const { HealthImplementation } = await import('grpc-health-check')
  const health = new HealthImplementation(Object.fromEntries(healthServices.map((name) => [name, 'NOT_SERVING'])))
  return {
    addTo: (server) => {
      health.addToServer(server)
    },
    setServing: (isServing) => {
      for (const name of healthServices) health.setStatus(name, isServing ? 'SERVING' : 'NOT_SERVING')
    },
  }
}

/** The fields of reflection messages that contain service names. */
interface ReflectionRequest {
  readonly messageRequest?: string
  readonly fileContainingSymbol?: string
}
interface ReflectionResponse {
  readonly originalRequest?: ReflectionRequest
  readonly listServicesResponse?: { readonly service: readonly { readonly name: string }[] } | null
}
type ReflectionStream = ServerDuplexStream<ReflectionRequest, ReflectionResponse>

/** For a proto without a package, @grpc/reflection puts a period before names, which no client does. */
const toPackage = (request: ReflectionRequest): ReflectionRequest => {
  const { messageRequest, fileContainingSymbol: symbol } = request
  return messageRequest !== 'fileContainingSymbol' || symbol === undefined || /^(\.|grpc\.)/.test(symbol)
    ? request
    : { ...request, fileContainingSymbol: `.${symbol}` }
}

const toClient = (response: ReflectionResponse, originalRequest: ReflectionRequest): ReflectionResponse => {
  const { listServicesResponse: list } = response
  const names = list?.service.map(({ name }) => ({ name: name.replace(/^\./, '') }))
  return {
    ...response,
    originalRequest,
    ...(names === undefined ? {} : { listServicesResponse: { service: names } }),
  }
}

/** The stream for the handler of the package, which answers each request before it returns. */
const translated = (stream: ReflectionStream) => {
  let originalRequest: ReflectionRequest = {}
  return {
    on: (name: string, listener: (request?: ReflectionRequest) => void) => {
      if (name !== 'data') stream.on(name, () => listener())
      else
        stream.on(name, (request: ReflectionRequest) => {
          originalRequest = request
          listener(toPackage(request))
        })
    },
    write: (response: ReflectionResponse) => stream.write(toClient(response, originalRequest)),
    end: () => stream.end(),
  }
}

const translating = (handlers: UntypedServiceImplementation): UntypedServiceImplementation =>
  Object.fromEntries(
    Object.entries(handlers).map(([name, handle]) => [
      name,
      (stream: ReflectionStream) => {
        ;(handle as unknown as (stream: ReturnType<typeof translated>) => void)(translated(stream))
      },
    ]),
  )

/** Reflection (v1 and v1alpha) of `dataflow` and `grpc.health.v1`. Rejects with `missing-dependency`. */
export const openGrpcReflection = async (): Promise<(server: Server) => void> => {
  const [{ ReflectionService }, { protoPath }, { loadSync }, { strictDefinition }] = await Promise.all([
    import('@grpc/reflection'),
    import('grpc-health-check'),
    import('@grpc/proto-loader'),
    import('./strict-descriptors.js'),
  ])
  const own = join(dirname(createRequire(__filename).resolve('rxspeech/package.json')), 'proto/dataflow.proto')
  const reflection = new ReflectionService({
    ...strictDefinition(loadSync(own, { keepCase: true }), 'dataflow.proto'),
    ...strictDefinition(loadSync(protoPath, { keepCase: true }), 'grpc/health/v1/health.proto'),
  })
  return (server) => {
    reflection.addToServer({
      addService: (service, handlers) => {
        server.addService(service, translating(handlers))
      },
    })
  }
}
