/** How success is written: `success` on gRPC, `Success` on the WebSocket (service.md 2.6, section 7). */
export const dataflowSuccess = 'success'
export const recognizerSuccess = 'Success'

/** Compared without letter case (decisions.md: start-response). */
export const isSuccess = (operationResult: string): boolean => operationResult.toLowerCase() === dataflowSuccess
