/* Selection of a device, and texts for its failures: no driver, an old driver, a hidden device, a lost context. */
#include "cuda/context.cuh"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* After these errors all further calls of the process fail: the device's context is lost, and only a new process gets another. */
static int is_fatal(cudaError_t code) {
    switch (code) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorHardwareStackError:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorContextIsDestroyed: return 1;
    default: return 0;
    }
}

/* The cure of an error; "" if only the runtime's text is known. */
static const char *advice(cudaError_t code) {
    if (is_fatal(code))
        return "; the device's context is lost, and nothing can use CUDA in this process any more: start a new one. What runs on the CPU "
               "goes on";
    switch (code) {
    case cudaErrorInitializationError: return "; a process that was forked after CUDA was used cannot use it: start it by spawning";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorInvalidDeviceFunction:
        return "; this build of pdgpu has no machine code for this device: build it with -DCMAKE_CUDA_ARCHITECTURES=native";
    default: return "";
    }
}

pd_status pd_cuda_failure(pd_context *context, cudaError_t code, const char *what) {
    pd_status status = code == cudaErrorMemoryAllocation ? PD_ERROR_MEMORY : PD_ERROR_DEVICE;
    cudaGetLastError();
    return pd_fail(&context->error, status, "CUDA: %s failed: %s%s", what, cudaGetErrorString(code), advice(code));
}

/* The reason why the runtime finds no device. */
static void explain(cudaError_t code, pd_error *error) {
    int driver = 0, runtime = 0;
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    cudaGetLastError();
    // the runtime reports a missing driver as an old one
    if (code == cudaErrorInsufficientDriver && driver == 0)
        pd_fail(error, PD_ERROR_DEVICE, "no NVIDIA driver is installed (this build of pdgpu needs one for CUDA %d.%d)", runtime / 1000,
                runtime % 1000 / 10);
    else if (code == cudaErrorInsufficientDriver)
        pd_fail(error, PD_ERROR_DEVICE, "the NVIDIA driver is too old: it is for CUDA %d.%d, and this build of pdgpu needs CUDA %d.%d",
                driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    else if ((code == cudaSuccess || code == cudaErrorNoDevice) && visible)
        pd_fail(error, PD_ERROR_DEVICE, "no GPU is visible: the environment has CUDA_VISIBLE_DEVICES='%.100s'", visible);
    else if (code == cudaSuccess || code == cudaErrorNoDevice)
        pd_fail(error, PD_ERROR_DEVICE, "the driver finds no GPU");
    else
        pd_fail(error, PD_ERROR_DEVICE, "no GPU can be used: %s%s", cudaGetErrorString(code), advice(code));
}

pd_status pd_device_count(int *count, pd_error *error) {
    cudaError_t code = cudaGetDeviceCount(count);
    if (code != cudaSuccess) *count = 0;
    if (*count == 0) explain(code, error);
    return PD_OK;
}

pd_status pd_device_name(int device, char name[256], pd_error *error) {
    cudaDeviceProp properties;
    cudaError_t code = cudaGetDeviceProperties(&properties, device);
    if (code != cudaSuccess) {
        cudaGetLastError();
        return pd_fail(error, PD_ERROR_DEVICE, "device: %d: %s%s", device, cudaGetErrorString(code), advice(code));
    }
    memcpy(name, properties.name, sizeof properties.name);
    return PD_OK;
}

void pd_device_versions(char text[256]) {
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    cudaGetLastError();
    int written = snprintf(text, 256, "CUDA runtime %d.%d", runtime / 1000, runtime % 1000 / 10);
    if (driver > 0)
        snprintf(text + written, 256 - (size_t)written, ", driver for CUDA up to %d.%d", driver / 1000, driver % 1000 / 10);
    else
        snprintf(text + written, 256 - (size_t)written, ", no driver");
}
