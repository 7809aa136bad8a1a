declare module "virtual:simulator" {
  /** The simulator, compressed by gzip, in base64. */
  const packed: string;
  export default packed;
}
