/* The type DeviceArray: memory of a simulation, or of the results of a batch, for other libraries to read and write in place.
 *
 * It supports DLPack (dmlc.github.io/dlpack, Python specification of the array API standard), versioned and unversioned. On a GPU it
 * also supports the CUDA array interface, version 3, and on the CPU NumPy's array interface. np.asarray works in both cases. On a GPU it
 * makes a copy. A consumer holds a reference to the array, and the array one to the owner of the memory.
 *
 * Order on a GPU: __dlpack__ waits for the simulation's stream, so that a consumer may use the memory from any stream. The CUDA array
 * interface names the stream instead, as its specification requires. A consumer must finish its work before the next step, which does
 * not synchronise with it. */
#include "python/binding/device_array.h"

#include "python/binding/instance.h"

#include <stdint.h>
#include <stdlib.h>

/* ---- DLPack, version 1.0: the layout of the structures is given by the protocol -------------------------------------------------- */

enum { DL_CPU = 1, DL_CUDA = 2, DL_INT = 0, DL_UNSIGNED = 1, DL_FLOAT = 2 };

typedef struct {
    int32_t type, id;
} DLDevice;

typedef struct {
    void *data;
    DLDevice device;
    int32_t n_dimensions;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* in numbers, not in bytes */
    uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
    DLTensor tensor;
    void *context;
    void (*deleter)(struct DLManagedTensor *);
} DLManagedTensor;

typedef struct DLManagedTensorVersioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct DLManagedTensorVersioned *);
    uint64_t flags; /* 0: writable, not a copy */
    DLTensor tensor;
} DLManagedTensorVersioned;

static const char NAME[] = "dltensor", NAME_VERSIONED[] = "dltensor_versioned";

typedef struct {
    PyObject_HEAD pd_device_memory memory;
    int64_t shape[2], strides[2]; /* stored here, so that every tensor of the array can refer to them */
} DeviceArray;

/* A type of numbers in DLPack and in the array interfaces. */
typedef struct {
    int code, bits;
    const char *text;
} number_type;

static number_type number_type_of(const DeviceArray *self) {
    switch (self->memory.type) {
    case NPY_FLOAT32: return (number_type){DL_FLOAT, 32, "<f4"};
    case NPY_INT32: return (number_type){DL_INT, 32, "<i4"};
    case NPY_UINT8: return (number_type){DL_UNSIGNED, 8, "|u1"};
    default: return (number_type){DL_FLOAT, 64, "<f8"};
    }
}

PyObject *pd_device_array_create(PyTypeObject *type, const pd_device_memory *memory) {
    DeviceArray *self = pd_instance_create(type);
    if (!self) return NULL;
    Py_INCREF(memory->owner);
    self->memory = *memory;
    self->shape[0] = memory->shape[0];
    self->shape[1] = memory->n_dimensions > 1 ? memory->shape[1] : 1;
    self->strides[0] = self->shape[1], self->strides[1] = 1;
    return (PyObject *)self;
}

const pd_device_memory *pd_device_array_memory(PyObject *array) { return &((DeviceArray *)array)->memory; }

static void device_array_dealloc(DeviceArray *self) {
    Py_XDECREF(self->memory.owner);
    pd_instance_destroy(self);
}

static DLDevice device_of(const DeviceArray *self) {
    return (DLDevice){self->memory.location.on_device ? DL_CUDA : DL_CPU, self->memory.location.device};
}

static DLTensor tensor_of(DeviceArray *self) {
    const number_type number = number_type_of(self);
    return (DLTensor){.data = self->memory.data,
                      .device = device_of(self),
                      .n_dimensions = self->memory.n_dimensions,
                      .code = (uint8_t)number.code,
                      .bits = (uint8_t)number.bits,
                      .lanes = 1,
                      .shape = self->shape,
                      .strides = self->strides};
}

/* A consumer may release the tensor on any thread, also after the interpreter has ended. */
static void let_go(void *array) {
    if (!Py_IsInitialized()) return;
    PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF((PyObject *)array);
    PyGILState_Release(state);
}

static void delete_tensor(DLManagedTensor *managed) {
    let_go(managed->context);
    free(managed);
}

static void delete_versioned(DLManagedTensorVersioned *managed) {
    let_go(managed->context);
    free(managed);
}

/* A consumer renames the capsule and owns the tensor. A capsule that was not consumed still has its name. */
static void capsule_dealloc(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, NAME)) {
        DLManagedTensor *managed = PyCapsule_GetPointer(capsule, NAME);
        managed->deleter(managed);
    } else if (PyCapsule_IsValid(capsule, NAME_VERSIONED)) {
        DLManagedTensorVersioned *managed = PyCapsule_GetPointer(capsule, NAME_VERSIONED);
        managed->deleter(managed);
    }
}

/* Checks the optional arguments for another device or a copy. Returns 0 with BufferError. */
static int can_give(DeviceArray *self, PyObject *wanted, PyObject *copy) {
    int type, id;
    DLDevice device = device_of(self);
    if (copy == Py_True) {
        PyErr_SetString(PyExc_BufferError, "copy: True, but this is the memory itself; copy the result");
        return 0;
    }
    if (wanted == Py_None) return 1;
    if (!PyTuple_Check(wanted)) {
        PyErr_Format(PyExc_TypeError, "dl_device: expected None or a tuple (type, number), got %R", wanted);
        return 0;
    }
    if (!PyArg_ParseTuple(wanted, "ii:dl_device", &type, &id)) return 0;
    if (type == device.type && id == device.id) return 1;
    PyErr_Format(PyExc_BufferError, "dl_device: the memory is on device (%d, %d), not on (%d, %d)", (int)device.type, (int)device.id, type,
                 id);
    return 0;
}

static PyObject *device_array_dlpack(DeviceArray *self, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *stream = Py_None, *version = Py_None, *wanted = Py_None, *copy = Py_None;
    int major = 0, minor = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$OOOO:__dlpack__", names, &stream, &version, &wanted, &copy)) return NULL;
    if (version != Py_None && !PyTuple_Check(version))
        return PyErr_Format(PyExc_TypeError, "max_version: expected None or a tuple (major, minor), got %R", version);
    if (version != Py_None && !PyArg_ParseTuple(version, "ii:max_version", &major, &minor)) return NULL;
    if (!can_give(self, wanted, copy)) return NULL;
    long number = -1;
    if (stream != Py_None) {
        number = PyLong_AsLong(stream);
        if (number == -1 && PyErr_Occurred()) return NULL;
        if (!self->memory.location.on_device)
            return PyErr_Format(PyExc_ValueError, "stream: expected None for memory of the CPU, got %R", stream);
    }
    // -1: the consumer does not request synchronisation
    if ((stream == Py_None || number != -1) && !self->memory.calls->settle(self->memory.owner)) return NULL;

    void *managed = calloc(1, major >= 1 ? sizeof(DLManagedTensorVersioned) : sizeof(DLManagedTensor));
    if (!managed) return PyErr_NoMemory();
    if (major >= 1)
        *(DLManagedTensorVersioned *)managed =
            (DLManagedTensorVersioned){.major = 1, .context = self, .deleter = delete_versioned, .tensor = tensor_of(self)};
    else
        *(DLManagedTensor *)managed = (DLManagedTensor){.tensor = tensor_of(self), .context = self, .deleter = delete_tensor};
    PyObject *capsule = PyCapsule_New(managed, major >= 1 ? NAME_VERSIONED : NAME, capsule_dealloc);
    if (!capsule) {
        free(managed);
        return NULL;
    }
    Py_INCREF((PyObject *)self);
    return capsule;
}

static PyObject *device_array_device(DeviceArray *self, PyObject *unused) {
    (void)unused;
    DLDevice device = device_of(self);
    return Py_BuildValue("(ii)", (int)device.type, (int)device.id);
}

/* ---- the interfaces by dicts ------------------------------------------------------------------------------------------------------ */

static PyObject *shape_of(const DeviceArray *self) {
    return self->memory.n_dimensions == 1 ? Py_BuildValue("(n)", self->memory.shape[0])
                                          : Py_BuildValue("(nn)", self->memory.shape[0], self->memory.shape[1]);
}

/* Version 3 of both; strides None: C-contiguous. */
static PyObject *interface(DeviceArray *self) {
    return Py_BuildValue("{sNsss(NO)sOsi}", "shape", shape_of(self), "typestr", number_type_of(self).text, "data",
                         PyLong_FromVoidPtr(self->memory.data), Py_False, "strides", Py_None, "version", 3);
}

static PyObject *missing(const char *name, const char *where) {
    return PyErr_Format(PyExc_AttributeError, "%s: this memory is not on %s", name, where);
}

static PyObject *device_array_interface(DeviceArray *self, void *unused) {
    (void)unused;
    return self->memory.location.on_device ? missing("__array_interface__", "the CPU") : interface(self);
}

static PyObject *device_array_cuda_interface(DeviceArray *self, void *unused) {
    (void)unused;
    if (!self->memory.location.on_device) return missing("__cuda_array_interface__", "a CUDA device");
    PyObject *result = interface(self), *stream = result ? PyLong_FromVoidPtr(self->memory.location.stream) : NULL;
    if (!stream || PyDict_SetItemString(result, "stream", stream) < 0) Py_CLEAR(result);
    Py_XDECREF(stream);
    return result;
}

/* A copy in host memory, for np.asarray without an array interface. */
static PyObject *device_array_numpy(DeviceArray *self, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"dtype", "copy", NULL};
    PyObject *dtype = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|OO:__array__", names, &dtype, &copy)) return NULL;
    if (copy == Py_False) return PyErr_Format(PyExc_ValueError, "copy: False, but NumPy reads no memory of a device");
    PyArrayObject *array = pd_array_out(self->memory.type, self->memory.n_dimensions, self->memory.shape);
    if (array && !self->memory.calls->download(self->memory.owner, PyArray_DATA(array), self->memory.data, (size_t)PyArray_NBYTES(array)))
        Py_CLEAR(array);
    if (!array || dtype == Py_None) return (PyObject *)array;
    PyObject *cast = PyObject_CallMethod((PyObject *)array, "astype", "O", dtype);
    Py_DECREF((PyObject *)array);
    return cast;
}

static PyObject *device_array_shape(DeviceArray *self, void *unused) {
    (void)unused;
    return shape_of(self);
}

static PyObject *device_array_repr(DeviceArray *self) {
    static const char *names[] = {[DL_INT] = "int32", [DL_UNSIGNED] = "uint8", [DL_FLOAT] = "float"};
    const number_type number = number_type_of(self);
    const char *bits = number.code != DL_FLOAT ? "" : number.bits == 32 ? "32" : "64";
    PyObject *shape = shape_of(self), *text = NULL;
    if (shape)
        text = PyUnicode_FromFormat("<pdgpu.DeviceArray: %R %s%s on %s>", shape, names[number.code], bits,
                                    self->memory.location.on_device ? "'cuda'" : "'cpu'");
    Py_XDECREF(shape);
    return text;
}

static PyMethodDef device_array_methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))device_array_dlpack, METH_VARARGS | METH_KEYWORDS,
     "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "The memory as a DLPack capsule, writable. BufferError for a copy or another device."},
    {"__dlpack_device__", (PyCFunction)device_array_device, METH_NOARGS,
     "__dlpack_device__($self, /)\n--\n\n(type, number): (1, 0) is the CPU, (2, 0) the first CUDA device."},
    {"__array__", (PyCFunction)(void (*)(void))device_array_numpy, METH_VARARGS | METH_KEYWORDS,
     "__array__($self, dtype=None, copy=None)\n--\n\nA copy in the host's memory; on the CPU NumPy reads the memory itself and does not "
     "ask."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef device_array_attributes[] = {
    {"__array_interface__", (getter)device_array_interface, NULL, "NumPy's array interface, where the memory is on the CPU.", NULL},
    {"__cuda_array_interface__", (getter)device_array_cuda_interface, NULL,
     "The CUDA array interface, where the memory is on a CUDA device; it names the owner's stream.", NULL},
    {"shape", (getter)device_array_shape, NULL, "(n,) or (n, k)", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot device_array_slots[] = {
    {Py_tp_dealloc, (void *)device_array_dealloc},
    {Py_tp_repr, (void *)device_array_repr},
    {Py_tp_methods, device_array_methods},
    {Py_tp_getset, device_array_attributes},
    {Py_tp_doc, "An array where it lies; Simulation.device_positions describes its use."},
    {0, NULL},
};

PyType_Spec pd_device_array_type_spec = {
    .name = "pdgpu.backend.DeviceArray",
    .basicsize = sizeof(DeviceArray),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = device_array_slots,
};
